//go:build !linux

package main

import (
	"errors"
	"os"
)

func dropPages(*os.File) error {
	return errors.New("evict: only Linux can take a file out of its cache")
}
