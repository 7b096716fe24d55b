"""Which bus the stack runs: the one place that knows."""

import os
from collections.abc import Mapping

from infra.local.errors import StackError
from infra.local.java import find_java
from infra.local.kafka import KafkaRuntime
from infra.local.kafka_class_archive import with_class_archive
from infra.local.kafka_jars import ensure_jars

BUS_VARIABLE = "EASYLOOP_LOCAL_BUS"
KAFKA = "kafka"


def choose_bus(environment: Mapping[str, str] = os.environ) -> KafkaRuntime:
    """Apache Kafka with the Java and the jars found on this machine.

    The first call of a user fetches the jars and records the class archive (half a minute together).
    Raises StackError naming everything that is missing, or for another bus in EASYLOOP_LOCAL_BUS.
    """
    wish = environment.get(BUS_VARIABLE, KAFKA)
    if wish != KAFKA:
        raise StackError(f"{BUS_VARIABLE}={wish}", "there is no such bus", f"set it to {KAFKA}, or unset it")
    try:
        java = find_java(environment)
        jars = tuple(ensure_jars(environment))
    except StackError as error:
        remedy = f"{error.remedy}. EasyLoop's bus is Apache Kafka: it needs Java 17 and Maven (or KAFKA_HOME)"
        raise StackError(error.thing, error.reason, remedy, error.log_tail) from error
    return with_class_archive(KafkaRuntime(java, jars))
