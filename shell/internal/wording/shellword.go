package wording

import "strings"

// ShellWord quotes a word for a command line that the user may copy.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("./-_=,", r) || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
