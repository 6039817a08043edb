// Package table reads the rows of csv, tsv and parquet files, one at a time.
//
// The extension says what a file holds: .csv and .tsv, either also with .gz behind it, and .parquet. The first record
// of a text file is its header. Text is UTF-8; a byte order mark, CRLF line ends and blank lines are understood. A field
// of a csv file may be in double quotes, in which "" stands for one and a line may end. A tsv file has no quotes: in its
// fields \t, \n, \r and \\ stand for a tab, the two ends of lines and a backslash, and nothing else may follow a
// backslash. A column of a parquet file must be a flat one of booleans, integers, floats or strings, and
// its values are handed out as the text that a csv file would hold; null is the empty text.
//
// Memory is bounded by the longest record (MaxRecord) or, for parquet, by a page of each column, whatever the size of
// the file and however well it is compressed.
//
// Every error of a file's content is an *Error, which reads
//
//	nodes.csv:17: column "year": got "abc", want a number
package table
