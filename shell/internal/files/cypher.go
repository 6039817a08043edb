package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A cypherToken is a word, a quoted text, or a sign of a script in Cypher.
type cypherToken struct {
	text string
	mark byte  // what quotes it: a back-quote, or one of the two quotes; 0: nothing
	line int64 // 1-based
}

// is says whether a token is a keyword or a sign. A quoted one is neither.
func (t cypherToken) is(word string) bool { return t.mark == 0 && strings.EqualFold(t.text, word) }

// isName says whether a token can be the name of a table or of a column.
func (t cypherToken) isName() bool {
	return t.mark == '`' || t.mark == 0 && t.text != "" && isWordByte(t.text[0])
}

// A cypherStatement is the tokens of a statement of a script, without the semicolon.
type cypherStatement struct {
	path   string
	tokens []cypherToken
}

// maxScript bounds a script, in bytes. One of 100,000 tables is smaller.
const maxScript = 16 << 20

// readCypher cuts a script into its statements. Nothing of it is run.
func readCypher(ctx context.Context, path string) (statements []cypherStatement, err error) {
	f, err := stream.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxScript {
		return nil, &table.Error{Path: path, Msg: fmt.Sprintf("has more than %d MiB, want a script that EXPORT DATABASE wrote", maxScript>>20)}
	}
	return cutCypher(path, text)
}

// cutCypher cuts the text of a script into its statements.
func cutCypher(path string, text []byte) (statements []cypherStatement, err error) {
	now := cypherStatement{path: path}
	line := int64(1)
	for len(text) > 0 {
		token, rest, err := nextCypher(text)
		if err != nil {
			return nil, &table.Error{Path: path, Line: line, Value: string(text[:1]), Msg: err.Error()}
		}
		token.line = line
		line += int64(bytes.Count(text[:len(text)-len(rest)], []byte{'\n'}))
		text = rest
		switch {
		case token.text == "" && token.mark == 0:
		case token.is(";"):
			statements = append(statements, now)
			now = cypherStatement{path: path}
		default:
			now.tokens = append(now.tokens, token)
		}
	}
	if len(now.tokens) > 0 {
		return nil, now.errorf(0, "got a statement without a ; at its end, want a whole script")
	}
	return statements, nil
}

// nextCypher returns the token that a text begins with, and what follows. White space and a comment are an empty token.
func nextCypher(text []byte) (token cypherToken, rest []byte, err error) {
	switch c := text[0]; {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n' || bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return token, bytes.TrimLeft(text, "\ufeff \t\r\n"), nil
	case bytes.HasPrefix(text, []byte("//")):
		_, rest, _ = bytes.Cut(text, []byte{'\n'})
		return token, rest, nil
	case bytes.HasPrefix(text, []byte("/*")):
		_, rest, closed := bytes.Cut(text[2:], []byte("*/"))
		if !closed {
			return token, nil, errors.New("got a comment without an end, want */")
		}
		return token, rest, nil
	case c == '`' || c == '"' || c == '\'':
		return quotedCypher(text)
	case isWordByte(c):
		end := 0
		for end < len(text) && isWordByte(text[end]) {
			end++
		}
		return cypherToken{text: string(text[:end])}, text[end:], nil
	default:
		return cypherToken{text: string(text[:1])}, text[1:], nil
	}
}

// quotedCypher is nextCypher for a text that begins with a quote. Twice the quote stands for one. Between quotes, but not between back-quotes,
// a backslash takes the next character as it is.
func quotedCypher(text []byte) (token cypherToken, rest []byte, err error) {
	mark := text[0]
	var name []byte
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && mark != '`' && i+1 < len(text):
			i++
			name = append(name, text[i])
		case c == mark && i+1 < len(text) && text[i+1] == mark:
			i++
			name = append(name, mark)
		case c == mark:
			return cypherToken{text: string(name), mark: mark}, text[i+1:], nil
		default:
			name = append(name, c)
		}
	}
	return token, nil, fmt.Errorf("got a %c that is left open, want another behind the name", mark)
}

// isWordByte says whether a byte may be in a name without quotes, or in a number.
func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// errorf returns an error about one of the tokens, or the end of the statement.
func (s *cypherStatement) errorf(i int, format string, args ...any) error {
	at := &table.Error{Path: s.path, Msg: fmt.Sprintf(format, args...)}
	if len(s.tokens) > 0 {
		token := s.tokens[min(i, len(s.tokens)-1)]
		at.Line, at.Value = token.line, token.text
	}
	return at
}

// at is a token, an empty one behind the end.
func (s *cypherStatement) at(i int) cypherToken {
	if i < len(s.tokens) {
		return s.tokens[i]
	}
	return cypherToken{}
}

// begins says whether the statement has some keywords from a place on, and where it goes on.
func (s *cypherStatement) begins(i int, words ...string) (next int, ok bool) {
	for _, word := range words {
		if !s.at(i).is(word) {
			return 0, false
		}
		i++
	}
	return i, true
}

// name is the name at a place.
func (s *cypherStatement) name(i int, of string) (string, error) {
	if token := s.at(i); token.isName() {
		return token.text, nil
	}
	return "", s.errorf(i, "got %q, want the name of %s", s.at(i).text, of)
}

// list cuts a list in parentheses at its commas, and returns the places of its items and where the statement goes on. Lists and parentheses
// within an item are a part of it.
func (s *cypherStatement) list(i int) (items [][2]int, next int, err error) {
	if !s.at(i).is("(") {
		return nil, 0, s.errorf(i, "got %q, want a list in parentheses", s.at(i).text)
	}
	first, depth := i+1, 1
	for i++; i < len(s.tokens); i++ {
		switch token := s.at(i); {
		case token.is("(") || token.is("[") || token.is("{"):
			depth++
		case token.is(",") && depth == 1:
			items = append(items, [2]int{first, i})
			first = i + 1
		case token.is(")") || token.is("]") || token.is("}"):
			if depth--; depth == 0 {
				if first < i {
					items = append(items, [2]int{first, i})
				}
				return items, i + 1, nil
			}
		}
	}
	return nil, 0, s.errorf(i, "got a list without an end, want )")
}
