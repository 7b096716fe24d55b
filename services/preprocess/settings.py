"""Settings of preprocess: how much it does at a time."""

from pydantic import Field

from chassis.settings import ServiceSettings


class PreprocessSettings(ServiceSettings):
    """More of either takes more memory: a file in work needs up to 25 MB, and its pixels."""

    decode_threads: int = Field(default=8, gt=0, description="files decoded and stored at a time")
    chunks_at_once: int = Field(default=2, gt=0, description="chunks worked on at a time")
