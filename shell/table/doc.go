// Package table reads the rows of csv, tsv and parquet files: one at a time, or in parallel.
//
// The content says what a file holds, whatever its name: text, text packed by gzip, or parquet. The first line of a
// text shows what separates its columns. Lines that begin with # or % are comments if the text begins with one. A Form
// says what that line does not show. The header is the first record that is no comment, or columns have numbers. Text
// is UTF-8; a byte order mark, CRLF line ends and blank lines are understood. A field may be in double quotes, in which
// "" stands for one, and the text may go on in the next line. If tabs separate, each line is a record, and a field that
// goes on behind its closing quote, or has none, is text with its quotes. If blanks separate, each line is a record,
// and all quotes are text. A backslash is a backslash. A column of a parquet file has booleans, integers, floats,
// strings, dates or times; other columns are left out. Its values are handed out as the text that a csv file
// would hold: dates and times by ISO 8601. Null, and NaN too, is the empty text.
//
// Open reads the files of a directory as one. They have the same header.
// The name "-" is standard input, where the context has one: csv or tsv, and to be read once.
//
// A file is read in chunks, runs of whole records. Reader.Scan hands them to goroutines, which parse them side
// by side. Text is cut at the ends of records without being parsed: a chunk
// without quotes may end after any line, and only records with quotes are followed field by field. Fields are views
// into the chunk, so that a row costs no allocation. Pages of parquet files are decoded in order, their values turned
// into text in parallel.
//
// Memory is bounded by a chunk for each goroutine, which is as large as the longest record (MaxRecord) where that is
// larger, whatever the size of the file and however well it is compressed. Pages of parquet files are held
// against it before they are unpacked.
//
// Every error of a file's content is an *Error, which reads
//
//	nodes.csv:17: column "year": got "abc", want a number
//
// Errors of a row alone, such as a wrong number of fields, can be skipped: the rows behind it can be read on. Those
// behind which no row can be told from another, such as a quote left open, end the reading.
package table
