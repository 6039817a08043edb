// Package table reads the rows of csv, tsv and parquet files: one at a time, or in parallel.
//
// The content says what a file holds, whatever its name: text, text packed by gzip, or parquet. The first line of a
// text shows what separates its columns, and whether lines that begin with # or % are comments; a Form says what it
// does not show. The header is the first record, or the last comment before it; else columns have numbers. Text is
// UTF-8; a byte order mark, CRLF line ends and blank lines are understood. If the first line has a blank beside all
// that separates columns, as in "src, dst", blanks around values are not part of them. A field may be in double quotes,
// in which "" stands for one. A line may end in them, unless blanks separate the columns. Between tabs or blanks, what
// goes on behind its closing quote, or has none, is text with quotes. Between tabs, a quote whose text would go on in
// the next line is text, too, if the record has all tabs of a row by the end of its line, and the next line has as
// many. A backslash is a backslash. Where there are two columns or more, a line that is the header again is an error. A
// column of a parquet file has booleans, integers, floats, decimals, strings, UUIDs, dates or times, or lists of them;
// Parts.WithoutNested leaves out others. Its values are handed out as the text that a csv file would hold: dates and
// times by ISO 8601, lists as [1,2,3] or ["a","b"]. Null is the empty text.
//
// Open reads several files as one: those of a directory, or those that a pattern matches. They have the same header, or the
// first is a header alone, with types as neo4j-admin writes them, and the others have none. The name "-" is standard input, where
// the context has one: csv or tsv, and to be read once.
//
// A file is read in chunks, runs of whole records. Reader.Rows takes them one after another; Reader.Scan hands them to
// several goroutines, which parse them side by side. Text is cut at the ends of records without being parsed: a chunk
// in which no quote is may end behind any line, and only records with quotes are followed field by field. Fields are
// views into the chunk, so that a row costs no allocation. The text of a .gz file is unpacked in a goroutine of its own.
// Pages of parquet files are decoded in order, their values turned into text in parallel.
//
// Memory is bounded by a chunk for each goroutine, which is as large as the longest record (MaxRecord) where that is
// larger, whatever the size of the file and however well it is compressed. What the metadata and the pages of a parquet
// file say of their sizes, and the runs in pages of their lengths, is held against the memory given to Open and against
// the file before anything is allocated: a page that takes more, with the pages of the other columns that are read side
// by side with it, is refused, and so is one that unpacks to more than its header says.
//
// Every error of a file's content is an *Error, which reads
//
//	nodes.csv:17: column "year": got "abc", want a number
//
// Errors of a row alone, such as a wrong number of fields, can be skipped: the rows behind it can be read on. Those
// behind which no row can be told from another, such as a quote left open, end the reading.
package table
