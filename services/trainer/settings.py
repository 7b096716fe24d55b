"""What the trainer needs to know."""

from pathlib import Path

from pydantic import Field

from chassis.settings import ServiceSettings


class TrainerSettings(ServiceSettings):
    """Settings of the trainer."""

    backbone_dir: Path | None = Field(
        default=None, description="folder of the backbones, one folder each; <data_dir>/backbones when unset"
    )

    @property
    def backbone_path(self) -> Path:
        """Where hpo found or built the backbones."""
        return self.backbone_dir or self.data_dir / "backbones"
