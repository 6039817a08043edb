package shell

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestOneCommand compares the parser that knows one command with that of all: both print the same help of it, and the same errors.
func TestOneCommand(t *testing.T) {
	commands := 0
	for i := range reflect.TypeFor[commandLine]().NumField() {
		field := reflect.TypeFor[commandLine]().Field(i)
		if _, ok := field.Tag.Lookup("cmd"); !ok {
			continue
		}
		commands++
		name := strings.ToLower(field.Name)
		for _, arg := range []string{"--help", "--nonsense", "a"} {
			var said [2]string
			for all := range said {
				var out bytes.Buffer
				s := &streams{ctx: t.Context(), messages: messages{err: &out}}
				args := []string{name, arg}
				known := args
				if all == 1 {
					known = nil
				}
				_, err := s.parser(new(commandLine), known, installedName, &out, func(int) {}).Parse(args)
				if err != nil {
					out.WriteString(err.Error())
				}
				said[all] = out.String()
			}
			if said[0] != said[1] || arg == "--help" && !strings.Contains(said[0], "Usage: ") {
				t.Errorf("%s %s: got\n%s\nwant\n%s", name, arg, said[0], said[1])
			}
		}
	}
	if commands < 20 {
		t.Errorf("got %d commands, want all", commands)
	}
}
