#!/bin/sh
# The Python of Spark's own processes. Spark has them import PySpark from zips in which nothing is compiled, which takes
# each of them most of a second; the very same PySpark is installed beside Millstream.
IFS=:
path=
for entry in $PYTHONPATH; do
    case $entry in
        */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
        *) path=${path:+$path:}$entry ;;
    esac
done
unset IFS
PYTHONPATH=$path exec "$MILLSTREAM_PYTHON" "$@"
