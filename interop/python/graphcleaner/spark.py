"""Cleans graphs on Apache Spark: the names of graphcleaner_spark, which the extra `spark` installs."""

import sys

try:
    from graphcleaner_spark import *  # noqa: F403
    from graphcleaner_spark import __all__  # noqa: F401
except ModuleNotFoundError as error:
    says = "graphcleaner.spark needs the packages of the extra graphcleaner[spark]"
    raise ModuleNotFoundError(f"{error}: {says}") from error

if __name__ == "__main__":
    from graphcleaner_spark.__main__ import main

    sys.exit(main())
