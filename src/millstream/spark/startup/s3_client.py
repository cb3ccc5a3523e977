"""Hadoop's client for S3, with which Spark writes its log: PySpark comes without it.

Hadoop's own package asks for all of Amazon's clients in one jar of 690 MB. Only those for S3 and for roles are used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pyspark

from millstream.config import Setting
from millstream.directories import cache_directory
from millstream.errors import StreamsError
from millstream.jvm.maven import Artifact, fetch_jars
from millstream.spark.state.s3 import hadoop_properties, is_s3

#: The Hadoop that comes with the PySpark this package asks for, and the libraries that it was made with.
_HADOOP, _AMAZON, _ACCELERATOR = "3.5.0", "2.35.4", "1.3.1"
_CLIENT = Artifact("org.apache.hadoop", "hadoop-aws", _HADOOP)
_STREAMS = Artifact("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", _ACCELERATOR)
_NEEDED = [Artifact("software.amazon.awssdk", name, _AMAZON) for name in ("s3", "s3-transfer-manager", "sts")]

_JARS, _PACKAGES = "spark.jars", "spark.jars.packages"
_VERSION = re.compile(r"-\d.*")


def s3_properties(location: str, spark: Mapping[str, Setting]) -> dict[str, str]:
    """What Spark is told so that its log can be on S3; nothing for other places.

    Args:
        location: of the checkpoint.
        spark: the properties that the user gives.

    Raises:
        MillstreamError: the client is not there, and cannot be fetched.
    """
    if not is_s3(location):
        return {}
    properties = hadoop_properties(location, spark)
    given = ",".join(str(spark.get(name, "")) for name in (_JARS, _PACKAGES))
    there = _spark_jars()
    if "hadoop-aws" not in given and "hadoop-aws" not in there:
        own = [str(jar) for jar in _client_jars(there)]
        properties[_JARS] = ",".join([*filter(None, [str(spark.get(_JARS, ""))]), *own])
    return properties


def _client_jars(there: Mapping[str, str]) -> list[Path]:
    """The client's jars without what Spark has already."""
    hadoop = there.get("hadoop-client-api")
    if hadoop != _HADOOP:
        raise StreamsError(
            "Spark has no client for S3",
            detail=f"its Hadoop is {hadoop or 'not known'}, and the client that Millstream fetches is of {_HADOOP}",
            hint='give the fitting one: spark={"spark.jars.packages": "org.apache.hadoop:hadoop-aws:VERSION"}',
        )
    home = cache_directory() / f"hadoop-aws-{_HADOOP}"
    jars = fetch_jars(f"Hadoop's S3 client {_HADOOP}", [_CLIENT, _STREAMS, *_NEEDED], home, [_CLIENT, _STREAMS])
    return [jar for jar in jars if _VERSION.sub("", jar.stem) not in there]


def _spark_jars() -> dict[str, str]:
    """The versions of the jars that Spark has, by their names."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    found = {}
    for jar in Path(home, "jars").glob("*.jar"):
        version = _VERSION.search(jar.stem)
        found[_VERSION.sub("", jar.stem)] = version[0].removeprefix("-") if version else ""
    return found
