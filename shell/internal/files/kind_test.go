package files

import (
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

func TestPropertyKinds(t *testing.T) {
	for _, c := range []struct {
		values string
		want   kv.Kind
	}{
		{"", kv.KindString}, {"true False", kv.KindBool}, {"1 -2 0", kv.KindInt}, {"1 2.5", kv.KindFloat}, {"-.5 1e-3",
			kv.KindFloat},
		{"1 x", kv.KindString}, {"007", kv.KindString}, {"0.5", kv.KindFloat}, {"9223372036854775807", kv.KindInt},
		{"9223372036854775808", kv.KindFloat}, {"1e999", kv.KindString}, {"0x10", kv.KindString},
		{"0.5 nan", kv.KindFloat}, {"1 NaN 3", kv.KindFloat}, {"NaN", kv.KindFloat}, {"0.5 -inf +Inf INFINITY", kv.KindFloat},
		{"0.5 nano", kv.KindString}, {"+-inf", kv.KindString}, {"-nan", kv.KindString}, {"true nan", kv.KindString},
		{"+5", kv.KindString}, {"true 1", kv.KindString}, {"-", kv.KindString}, {"1_000", kv.KindString}, {"1 _ 2",
			kv.KindString},
		{"9007199254740993", kv.KindInt}, {"9007199254740992 0.5", kv.KindFloat},
		{"9007199254740993 0.5", kv.KindString}, {"12345678901234567890", kv.KindString}, {"-12345678901234567890",
			kv.KindString},
	} {
		var guess kindGuess
		guess.see(nil)
		for _, value := range strings.Fields(c.values) {
			guess.see([]byte(value))
		}
		if got := guess.kind(); got != c.want {
			t.Errorf("%q: got kind %v, want %v", c.values, got, c.want)
		}
	}
}
