package query

import (
	"iter"
	"slices"
	"strings"
)

// A Piece is a part of a text of statements. The pieces of a text, one after another, are the text.
type Piece struct {
	Text string
	Kind PieceKind
}

// A PieceKind says what a piece is to a reader.
type PieceKind uint8

// The kinds of pieces.
const (
	PlainPiece   PieceKind = iota // names, ids, marks and blanks
	KeywordPiece                  // a word of the language
	TextPiece                     // a text in single quotes
	NumberPiece
	CommentPiece // without the end of its line
)

// Pieces cuts a text of statements into parts, for a prompt that paints them. The text may have mistakes.
func Pieces(text string) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		scan := newScanner(text, startOfText)
		first := true // of a statement
		for {
			blank := scan.pos.Offset
			scan.skipBlank()
			for p := range comments(text[blank:scan.pos.Offset]) {
				if !yield(p) {
					return
				}
			}
			t := scan.next()
			if t.kind == tokenEnd {
				return
			}
			kind := PlainPiece
			switch word := strings.ToLower(t.text); {
			case t.kind == tokenString:
				kind = TextPiece
			case t.kind == tokenNumber:
				kind = NumberPiece
			case t.kind == tokenName && (reserved[word] || first && slices.Contains(StatementNames(), word)):
				kind = KeywordPiece
			case t.kind == tokenName && word == "all":
				ahead := scan // elsewhere all is an id
				if after := ahead.next(); after.is("where") {
					kind = KeywordPiece
				}
			}
			if !yield(Piece{text[t.pos.Offset:scan.pos.Offset], kind}) {
				return
			}
			// plan and count go before a statement.
			first = t.is(";") || first && (t.is("plan") || t.is("count"))
		}
	}
}

// comments cuts blanks into comments and what stands between them.
func comments(blanks string) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		for {
			begin := strings.Index(blanks, "--")
			if begin < 0 {
				yield(Piece{Text: blanks})
				return
			}
			end := begin + strings.IndexByte(blanks[begin:]+"\n", '\n')
			if !yield(Piece{Text: blanks[:begin]}) || !yield(Piece{blanks[begin:end], CommentPiece}) {
				return
			}
			blanks = blanks[end:]
		}
	}
}
