// Package web serves the review page of a store to browsers on this machine, and the answers of statements to programs.
// It takes decisions. It knows no command line, and computes no score.
package web
