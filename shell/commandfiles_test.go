package shell

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Every flag and argument that takes a file says whether the file is read or written.
func TestFilesAreTagged(t *testing.T) {
	parser := must.Get(kong.New(new(commandLine),
		kong.Vars{"version": "", "seed": "1", "methods": "", "noises": "", "threads": "1", "address": anyPort}))(t)
	for _, command := range parser.Model.Leaves(false) {
		values := command.Positional
		for _, flag := range command.Flags {
			if strings.HasPrefix(flag.PlaceHolder, "FILE") {
				values = append(values, flag.Value)
			}
		}
		for _, value := range values {
			of := value.Tag.Get("file")
			if of != "read" && of != "write" && (value.Flag != nil || value.Name == "FILE") {
				t.Errorf("%s: %s has the tag file:%q", command.Name, value.Name, of)
			}
		}
	}
}
