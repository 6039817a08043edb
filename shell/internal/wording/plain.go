package wording

import (
	"regexp"
	"strings"
	"sync"
)

// rooms are the names of rooms of the program in errors, and the errors that only say of which sort an error is.
var rooms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|: )(?:cleaner|index|kv|ops|query): (?:bad options(?:: |$))?`)
})

// Plain is the text of an error for people: without the rooms of the program that it comes from.
func Plain(err error) string {
	return strings.TrimSuffix(rooms().ReplaceAllString(err.Error(), "$1"), ": ")
}
