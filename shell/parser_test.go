package shell

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// saidBy is the output of the parser for some arguments, given others.
func saidBy(t *testing.T, known, args []string) string {
	var out bytes.Buffer
	s := &streams{ctx: t.Context(), messages: messages{err: &out}}
	_, err := s.parser(new(commandLine), known, "graphcleaner", &out, func(int) {}).Parse(args)
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String()
}

// TestOneCommand compares the parser that knows one command with that of all: both print the same help of it, and the
// same errors.
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
			args := []string{name, arg}
			got, want := saidBy(t, args, args), saidBy(t, nil, args)
			if got != want || arg == "--help" && !strings.Contains(got, "Usage: ") {
				t.Errorf("%s %s: got\n%s\nwant\n%s", name, arg, got, want)
			}
		}
	}
	if commands < 20 {
		t.Errorf("got %d commands, want all", commands)
	}
}

// TestFlagsOfExamples looks up the flags of all examples in the help of the commands.
func TestFlagsOfExamples(t *testing.T) {
	s := &streams{ctx: t.Context()}
	model := s.parser(new(commandLine), nil, "graphcleaner", new(bytes.Buffer), func(int) {}).Model
	known, flags := map[string]bool{}, 0 // by command and name
	for _, command := range model.Children {
		for _, group := range command.AllFlags(true) {
			for _, flag := range group {
				known[command.Name+" --"+flag.Name] = true
			}
		}
	}
	for _, command := range model.Children {
		for line := range strings.Lines(command.Detail) {
			words := strings.Fields(line)
			if !strings.HasPrefix(line, "    graphcleaner ") {
				continue
			}
			for _, word := range words[2:] {
				if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(name, "--") && name != "--" {
					if flags++; !known[words[1]+" "+name] {
						t.Errorf("help of %s: %s has no flag %s:\n%s", command.Name, words[1], name, line)
					}
				}
			}
		}
	}
	if flags < 50 {
		t.Errorf("got %d flags, want those of all examples", flags)
	}
}
