"""Which bus the stack runs: the one place that knows."""

import os
from collections.abc import Callable, Mapping

from infra.local.bus_runtime import BusRuntime
from infra.local.errors import StackError
from infra.local.java import find_java
from infra.local.kafka import KafkaRuntime
from infra.local.kafka_class_archive import with_class_archive
from infra.local.kafka_jars import ensure_jars
from infra.local.tansu import find_tansu

BUS_VARIABLE = "EASYLOOP_LOCAL_BUS"
KAFKA, TANSU, AUTO = "kafka", "tansu", "auto"


def choose_bus(report: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> BusRuntime:
    """The one that EASYLOOP_LOCAL_BUS names; unset or `auto`, Kafka where it can run and Tansu elsewhere.

    `report` takes a line about what that means. Raises StackError naming everything that is missing.
    """
    wish = environment.get(BUS_VARIABLE) or AUTO
    if wish == KAFKA:
        return find_kafka(environment)
    if wish == TANSU:
        return find_tansu()
    if wish != AUTO:
        remedy = f"set it to {KAFKA}, {TANSU} or {AUTO}, or unset it"
        raise StackError(f"{BUS_VARIABLE}={wish}", "there is no such bus", remedy)
    try:
        return find_kafka(environment)
    except StackError as error:
        tansu = find_tansu()
        report(
            f"the bus is Tansu, since Kafka cannot run ({error.thing}: {error.reason}); it forgets its messages when "
            "it stops, and the services then send them again"
        )
        return tansu


def find_kafka(environment: Mapping[str, str] = os.environ) -> KafkaRuntime:
    """Apache Kafka with the Java and the jars found on this machine.

    The first call of a user fetches the jars and records the class archive (half a minute together).
    Raises StackError naming everything that is missing.
    """
    try:
        java = find_java(environment)
        jars = tuple(ensure_jars(environment))
    except StackError as error:
        needs = f"Apache Kafka needs Java 17 and Maven (or KAFKA_HOME); {BUS_VARIABLE}={TANSU} does without"
        raise StackError(error.thing, error.reason, f"{error.remedy}. {needs}", error.log_tail) from error
    return with_class_archive(KafkaRuntime(java, jars))
