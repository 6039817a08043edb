"""What `spark-submit` starts: the command line of graphcleaner.spark."""

import sys

from graphcleaner_spark.__main__ import main

sys.exit(main())
