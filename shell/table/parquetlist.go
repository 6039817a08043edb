package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// A parquetList is how a column has lists: at which level of definition an entry of it is an empty list, and at which a value. Below
// the one there is no list, and between both the value is null.
type parquetList struct {
	empty, value int

	values []parquet.Value // read of the pages
	at     int             // the next of them
	buffer []parquet.Value
}

// listOf returns how a column has lists, and how their values read as text; false if it has none that can be read.
func listOf(column *parquet.Column) (list *parquetList, asText appendText, ok bool) {
	list = new(parquetList)
	if column.Optional() {
		list.empty = 1
	}
	leaf := column
	for repeats := 0; !leaf.Leaf() || repeats == 0; {
		if leaf.Repeated() {
			repeats++
		}
		if leaf.Leaf() || len(leaf.Columns()) != 1 {
			break
		}
		leaf = leaf.Columns()[0]
	}
	if !leaf.Leaf() || leaf.MaxRepetitionLevel() != 1 || leaf.MaxDefinitionLevel() > list.empty+2 {
		return nil, nil, false
	}
	list.value = leaf.MaxDefinitionLevel()
	if asText, ok = textOfValue(leaf); !ok {
		return nil, nil, false
	}
	if asText == nil {
		asText = func(dst []byte, v parquet.Value) ([]byte, error) {
			text, err := json.Marshal(string(v.ByteArray()))
			if err != nil {
				panic(err) // of any string there is a text
			}
			return append(dst, text...), nil
		}
	}
	return list, asText, true
}

// listTexts are the lists of the rows of a chunk in a column, each as [1,2,3].
type listTexts struct {
	text []byte
	ends []int
}

func (l *listTexts) row(i int) []byte {
	begin := 0
	if i > 0 {
		begin = l.ends[i-1]
	}
	return l.text[begin:l.ends[i]]
}

// isFullOfLists says whether the lists of a chunk take as much as they may.
func (p *parquetReader) isFullOfLists(c *parquetChunk) bool {
	size := int64(0)
	for i := range c.lists {
		size += int64(len(c.lists[i].text))
	}
	return size > p.listBytes/(1+p.source.Readers)
}

// readLists reads the lists of up to so many rows into a chunk, and returns of how many: fewer if those take all room.
func (p *parquetReader) readLists(c *parquetChunk, most int) (rows int, err error) {
	if !p.hasLists {
		return most, nil
	}
	for rows < most && (c.rows+rows == 0 || !p.isFullOfLists(c)) {
		for i := range p.columns {
			if p.columns[i].list == nil {
				continue
			}
			row := c.line + int64(c.rows+rows) + 1
			texts := &c.lists[i]
			texts.text, err = p.columns[i].appendList(texts.text)
			if refused, ok := errors.AsType[valueError](err); ok {
				return 0, &Error{Path: p.path, Line: row, Column: p.columns[i].name, Msg: refused.Error()}
			}
			if errors.Is(err, io.EOF) {
				return 0, &Error{Path: p.path, Line: row, Column: p.columns[i].name, Msg: "is a damaged column: it ends early"}
			}
			if err != nil {
				return 0, damagedFrom(p.path, row, p.columns[i].name, err)
			}
			texts.ends = append(texts.ends, len(texts.text))
		}
		rows++
	}
	return rows, nil
}

var errLongList = valueError(fmt.Sprintf("got a list of more than %d MiB as text, want shorter ones", MaxRecord>>20))

// appendList appends the next list of the column as text. io.EOF says that there is none.
func (c *parquetColumn) appendList(text []byte) ([]byte, error) {
	begin, entries, isList := len(text), 0, false
	for {
		v, err := c.peek()
		switch {
		case errors.Is(err, io.EOF) && entries == 0:
			return text, err
		case err != nil && !errors.Is(err, io.EOF):
			return text, err
		case err != nil || v.RepetitionLevel() == 0 && entries > 0:
			if isList {
				text = append(text, ']')
			}
			return text, nil
		case v.RepetitionLevel() > 0 && entries == 0:
			return text, errors.New("a list goes on that has not begun")
		}
		c.list.at++
		entries++
		switch level := v.DefinitionLevel(); {
		case level < c.list.empty: // no list
			continue
		case level == c.list.empty && level < c.list.value:
			text, isList = append(text, '['), true
			continue
		case isList:
			text = append(text, ',')
		default:
			text, isList = append(text, '['), true
		}
		if v.IsNull() {
			text = append(text, "null"...)
		} else {
			if text, err = c.append(text, v); err != nil {
				return text, err
			}
		}
		if len(text)-begin > MaxRecord {
			return text, errLongList
		}
	}
}

// listBatch is how many values of lists are decoded at once.
const listBatch = 512

// peek returns the next value of the group of rows, or io.EOF.
func (c *parquetColumn) peek() (v parquet.Value, err error) {
	l := c.list
	if l.at < len(l.values) {
		return l.values[l.at], nil
	}
	if err := c.nextPage(); err != nil {
		return v, err
	}
	if l.buffer == nil {
		l.buffer = make([]parquet.Value, listBatch)
	}
	l.values, l.at = l.buffer[:min(listBatch, c.rest)], 0
	if err := c.read(l.values); err != nil {
		l.values = nil
		return v, err
	}
	return l.values[0], nil
}
