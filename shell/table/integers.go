package table

// An IntegerPair is a row of two columns that are integers.
type IntegerPair struct {
	Line   int64 // as of Row
	Fields [2]uint64
}

// IntegerPairs reads rows on as long as they are a line of two fields that are integers from 0 up in their shortest
// form, at most as many as pairs has room for. It returns how many. The rows that follow are left to Chunk.Rows.
func (c *Chunk) IntegerPairs(pairs []IntegerPair) (n int) {
	if text, ok := c.rows.(*textChunk); ok {
		n = text.integerPairs(pairs)
	}
	for i := range pairs[:n] {
		pairs[i].Line |= c.part
	}
	return n
}

// integerPairs is Chunk.IntegerPairs of a chunk of text.
func (c *textChunk) integerPairs(pairs []IntegerPair) int {
	if len(c.file.header) != 2 || c.quotes {
		return 0
	}
	data, separator := c.data, c.file.layout.separator
	for i := range pairs {
		first, at := integer(data, c.at)
		if at < 0 || data[at] != separator {
			return i
		}
		second, at := integer(data, at+1)
		if at < 0 {
			return i
		}
		if data[at] == '\r' {
			at++
		}
		if at == len(data) || data[at] != '\n' {
			return i
		}
		c.at = at + 1
		c.line++
		pairs[i] = IntegerPair{c.line, [2]uint64{first, second}}
	}
	return len(pairs)
}

// integer parses the digits at a place of data. It returns where they end, which is a place of data too; -1 if there
// are none, or more than 18, or if they begin with a zero that is not alone.
func integer(data []byte, at int) (value uint64, end int) {
	const most = 18
	begin := at
	for at < len(data) && data[at]-'0' <= 9 {
		value = 10*value + uint64(data[at]-'0')
		at++
	}
	if n := at - begin; n == 0 || n > most || n > 1 && data[begin] == '0' || at == len(data) {
		return 0, -1
	}
	return value, at
}
