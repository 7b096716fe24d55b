"""A setting that nobody reads is refused, with the name that was meant."""

from importlib import import_module
from pathlib import Path

import pytest

from chassis.failpoints import Failpoints
from chassis.setting_names import SETTING_NAMES
from chassis.settings import PREFIX, MisspeltSetting, ServiceSettings, refuse_misspelt
from tests.unit.schemas.test_contracts import SERVICES


def test_a_misspelt_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(MisspeltSetting, match="did you mean EASYLOOP_S3_BUCKET"):
        refuse_misspelt(["PATH", "EASYLOOP_S3_BUKET"], SETTING_NAMES)


def test_variables_of_others_are_none_of_our_business() -> None:
    refuse_misspelt(["PATH", "LOOP", "EASYLOOP_DATA_DIR"], SETTING_NAMES)


def test_every_field_of_every_service_is_a_known_name_and_described() -> None:
    models = [ServiceSettings]
    for service in SERVICES:
        if (Path("services") / service / "settings.py").exists():
            module = import_module(f"services.{service}.settings")
            models += [m for m in vars(module).values() if isinstance(m, type) and issubclass(m, ServiceSettings)]
    fields = {PREFIX + name.upper(): field for model in models for name, field in model.model_fields.items()}
    assert fields.keys() <= SETTING_NAMES
    assert [name for name, field in fields.items() if not field.description] == []


def test_an_unknown_failpoint_action_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use kill_once"):
        Failpoints.parse("trainer.after_checkpoint=explode", tmp_path)


def test_an_unarmed_failpoint_does_nothing(tmp_path: Path) -> None:
    Failpoints.parse("", tmp_path).reach("trainer.after_checkpoint")
    assert list(tmp_path.iterdir()) == []
