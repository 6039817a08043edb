"""The tables that people give. All files of a table must have the same columns: Spark takes those of one file for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .errors import InputError
from .stages import Files, literal, one_line, open_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AT_ONCE = 16  # footers that are read
_HIDDEN = ("_", ".")  # how names begin that Spark skips


def read_parquet(spark: SparkSession, path: str) -> DataFrame:
    """The table of a parquet file, or of a folder of them. InputError if they are none, or have different columns."""
    try:
        _check_columns(spark, path, _files_of(spark, path))
        return open_parquet(spark, path)
    except (PySparkException, Py4JError) as err:
        text = one_line(err)
        if "UNABLE_TO_INFER_SCHEMA" in text:
            raise InputError(f"{path}: got no rows and no columns, want parquet") from None
        raise InputError(f"{path}: {text}") from None


def read_csv(spark: SparkSession, path: str) -> DataFrame:
    """The table of a csv file with a header, all of it texts. InputError if it is none."""
    _files_of(spark, path)
    try:
        return spark.read.csv(literal(path), header=True, escape='"', multiLine=True)
    except (PySparkException, Py4JError) as err:
        raise InputError(f"{path}: {one_line(err)}") from None


def _files_of(spark: SparkSession, path: str) -> dict[str, str]:
    """Paths of the files that Spark reads, by their names below path, or by path if that is a file. InputError if Spark would skip
    some that hold data."""
    files, found = Files(spark), {}
    listing = files.listing(path)
    root = files.resolved(path)
    for file, _, _ in listing:
        *folders, name = (file.removeprefix(root).lstrip("/") or root.rpartition("/")[2]).split("/")
        if any(folder.startswith(_HIDDEN) and "=" not in folder for folder in folders):
            continue  # what writers leave there is no data
        if name.startswith(_HIDDEN) and "=" not in name:
            if file == root or name.endswith(".parquet"):
                raise InputError(f'{path}: Spark skips files whose names begin with "{name[0]}", such as {name}: want another name')
            continue
        if any("=" not in folder for folder in folders):
            below = "/".join([*folders, name])
            raise InputError(f"{path}: Spark skips files in folders below it, such as {below}: want them in one folder")
        found[path if file == root else "/".join([*folders, name])] = file
    return found


def _check_columns(spark: SparkSession, path: str, files: dict[str, str]) -> None:
    """InputError if two of the files do not have the same columns."""
    first, columns = "", {}
    seen: list[Any] = []
    for name, schema in _schemas(spark, path, files):
        if any(schema.equals(other) for other in seen):
            continue
        seen.append(schema)
        of_file = _columns(spark, path, name, files[name], schema)
        if not first:
            first, columns = name, of_file
        for a, b, more, fewer in ((name, first, of_file, columns), (first, name, columns, of_file)):
            for column in more:
                if column not in fewer:
                    raise InputError(f"{path}: {a} has a column {column} that {b} has not, want the same columns in every file")
        for column, kind in columns.items():
            if of_file[column] != kind:
                raise InputError(f"{path}: column {column}: {first} has {kind}, {name} has {of_file[column]}, want one type in every file")


def _schemas(spark: SparkSession, path: str, files: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """What the footers of files say of columns, by name."""
    names = sorted(files)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for at in range(0, len(names), 16 * _AT_ONCE):
            some = names[at:at + 16 * _AT_ONCE]
            yield from zip(some, pool.map(partial(_schema, spark, path, files), some), strict=True)


def _schema(spark: SparkSession, path: str, files: dict[str, str], name: str) -> Any:
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(files[name])
    no_row_groups = jvm.org.apache.parquet.format.converter.ParquetMetadataConverter.SKIP_ROW_GROUPS
    try:
        footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(spark._jsc.hadoopConfiguration(), place, no_row_groups)
    except Py4JError as err:
        text = one_line(err)
        if "is not a Parquet file" in text:
            text = "got a file of another format, want parquet"
        raise InputError(f"{_place(path, name)}: {text}") from None
    return footer.getFileMetaData().getSchema()


def _columns(spark: SparkSession, path: str, name: str, file: str, schema: Any) -> dict[str, str]:
    """The columns of a file, and their types on Spark."""
    try:
        return {field.name: field.dataType.simpleString() for field in open_parquet(spark, file).schema}
    except (PySparkException, Py4JError) as err:
        text, names = one_line(err), [schema.getFieldName(i) for i in range(schema.getFieldCount())]
        for column, count in Counter(names).items():
            if count > 1:
                raise InputError(f"{_place(path, name)}: got two columns {column}, want one") from None
        for i, column in enumerate(names):
            kind = schema.getType(i).getLogicalTypeAnnotation()
            if kind is not None and "PARQUET_TYPE_" in text and f"({kind.toString()})" in text:
                raise InputError(f"{_place(path, name)}: column {column}: got {kind.toString()}, which Spark does not read") from None
        raise InputError(f"{_place(path, name)}: {text}") from None


def _place(path: str, name: str) -> str:
    return path if name == path else f"{path.rstrip('/')}/{name}"
