package shell

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/alecthomas/kong"
)

// A positive is a flag that takes a whole number from 1; 0 is one that is not given.
type positive int

// UnmarshalText reads a number for the command line.
func (p *positive) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("got %q, want a whole number from 1", text)
	}
	*p = positive(n)
	return nil
}

// decimals have flags of whole numbers take decimals alone. The parser of flags would take 0400 for 256, and 0x10 for 16.
func decimals() kong.Option {
	return kong.OptionFunc(func(k *kong.Kong) error {
		decode := kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			token, err := ctx.Scan.PopValue("number")
			if err != nil {
				return err
			}
			text := fmt.Sprint(token.Value)
			if target.CanUint() {
				n, err := strconv.ParseUint(text, 10, target.Type().Bits())
				if err != nil {
					return fmt.Errorf("got %q, want a whole number from 0", text)
				}
				target.SetUint(n)
				return nil
			}
			n, err := strconv.ParseInt(text, 10, target.Type().Bits())
			if err != nil {
				return fmt.Errorf("got %q, want a whole number", text)
			}
			target.SetInt(n)
			return nil
		})
		for _, kind := range []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64} {
			if err := kong.KindMapper(kind, decode).Apply(k); err != nil {
				return err
			}
		}
		return nil
	})
}
