"""What the search for models needs to know."""

from pathlib import Path

from pydantic import Field

from chassis.settings import ServiceSettings


class HpoSettings(ServiceSettings):
    """Settings of hpo."""

    backbone_dir: Path | None = Field(
        default=None, description="folder of the backbones, one folder each; <data_dir>/backbones when unset"
    )
    ray_address: str | None = Field(
        default=None, description="host:port of a Ray head; a private runtime a study when unset"
    )

    @property
    def backbone_path(self) -> Path:
        """Where the backbones lie, or are built at first use."""
        return self.backbone_dir or self.data_dir / "backbones"
