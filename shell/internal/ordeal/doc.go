// Package ordeal has the tests that kill the program, let the system fail it, and damage its stores.
package ordeal
