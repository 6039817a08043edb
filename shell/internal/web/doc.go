// Package web serves the review page of a store to browsers on this machine, and the same as JSON to programs. It takes
// decisions, and starts and stops clean. It knows no command line, and computes no score.
package web
