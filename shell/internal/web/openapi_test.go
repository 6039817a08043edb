package web

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

var rewrite = flag.Bool("rewrite", false, "write openapi.json anew")

// TestOpenAPI has the file describe the routes, their parameters, bodies and views as they are.
func TestOpenAPI(t *testing.T) {
	want := must.Get(json.MarshalIndent(described(), "", " "))(t)
	want = append(want, '\n')
	if *rewrite {
		must.Do(t, os.WriteFile("openapi.json", want, 0o644))
		return
	}
	if got := assetText("openapi.json"); got != string(want) {
		t.Error("openapi.json is not as the routes are: go test ./shell/internal/web -run TestOpenAPI -rewrite writes it anew")
	}
}

type object = map[string]any

// bounds are what values must be, beyond their type: of a parameter by path and name, and of a field by type and name.
var bounds = map[string]object{
	"/list of": {"enum": []string{"", "suspects", "nodes"}}, "/list sort": {"enum": sorts()},
	"/list page":        {"type": "integer", "minimum": 1, "maximum": 1 << 20},
	"/history before":   {"type": "integer", "minimum": 1, "maximum": math.MaxInt64},
	"decision decision": {"enum": kinds}, "bulk decision": {"enum": kinds},
	"bulk of":  {"enum": []string{"", "suspects", "nodes"}},
	"bulk ids": {"minItems": 1, "maxItems": mostIDs}, "decision why": reason, "bulk why": reason,
	"seen decision": {"enum": append(slices.Clone(kinds), "")},
	"undoing step":  {"not": object{"const": 0}},
}

// noControls is the pattern of texts without control characters, but for tab and newline.
const noControls = `^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`

var reason = object{"maxLength": mostWhy, "pattern": noControls}

var kinds = []string{"accept", "reject", "relabel", "unlabel", "unsure"}

// sorts are the orders of a list.
func sorts() []string {
	all := []string{""}
	for _, property := range orders {
		all = append(all, property, property+" desc")
	}
	return all
}

// described is the OpenAPI document of the routes.
func described() object {
	schemas := object{}
	paths := object{}
	refused := object{"description": "Not done.",
		"content": object{"application/json": object{"schema": schemaOf(reflect.TypeFor[problem](), schemas)}}}
	for _, r := range routes() {
		parameters := []object{}
		for _, p := range r.parameters {
			schema := object{"type": "string"}
			maps.Copy(schema, bounds[r.path+" "+p.name])
			parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.about,
				"schema": schema, "required": p.name == "id"})
		}
		operation := object{
			"summary": r.summary, "parameters": parameters,
			"responses": object{
				"200":     object{"description": "Done.", "content": object{"application/json": object{"schema": schemaOf(reflect.TypeOf(r.view), schemas)}}},
				"default": refused,
			},
		}
		if r.body != nil {
			operation["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schemaOf(reflect.TypeOf(r.body), schemas)}}}
		}
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = operation
	}
	paths["/events"] = object{"get": object{
		"summary": "A stream of server-sent events: progress, whose data is as of GET /progress, and overview and settled, which " +
			"have no data: the overview was counted in the background, or scores were brought up to date after a decision. It ends " +
			"if events are not read.",
		"responses": object{"200": object{"description": "The stream.",
			"content": object{"text/event-stream": object{}}}, "default": refused},
	}}
	paths["/healthz"] = object{"get": object{
		"summary":   "ok, as long as the page answers. It needs no token.",
		"security":  []object{},
		"responses": object{"200": object{"description": "ok", "content": object{"text/plain": object{"schema": object{"type": "string"}}}}},
	}}
	paths["/export/{name}"] = object{"get": object{
		"summary": "A file: labels.csv, suspects.csv or decisions.csv. An apostrophe goes before texts that a " +
			"spreadsheet would take for formulas.",
		"parameters": []object{
			{"name": "name", "in": "path", "required": true,
				"schema": object{"type": "string", "enum": []string{"labels.csv", "suspects.csv", "decisions.csv"}}},
		},
		"responses": object{"200": object{"description": "The file.",
			"content": object{"text/csv": object{"schema": object{"type": "string"}}}}, "default": refused},
	}}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "graphcleaner review", "version": "1",
			"description": "What the review page uses. Ask with the header `Accept: application/json`. Without it the answers are pages.",
		},
		"servers":    []object{{"url": "http://127.0.0.1:{port}", "variables": object{"port": object{"default": "0", "description": "The port that graphcleaner printed."}}}},
		"security":   []object{{"token": []string{}}},
		"paths":      paths,
		"components": object{"schemas": schemas, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "The token in the address that graphcleaner printed."}}},
	}
}

// schemaOf is the schema of a type. Structs are among the schemas by their names.
func schemaOf(of reflect.Type, schemas object) object {
	switch of.Kind() {
	case reflect.Pointer:
		inner := schemaOf(of.Elem(), schemas)
		if of.Elem().Kind() == reflect.Struct {
			return inner
		}
		return object{"type": []any{inner["type"], "null"}}
	case reflect.Slice, reflect.Array:
		if of == reflect.TypeFor[json.RawMessage]() {
			return object{"description": "JSON of any form."}
		}
		return object{"type": "array", "items": schemaOf(of.Elem(), schemas)}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Struct:
		properties, required := object{}, []string{}
		addFields(of, schemas, properties, &required)
		for name, schema := range properties {
			maps.Copy(schema.(object), bounds[of.Name()+" "+name])
		}
		schemas[of.Name()] = object{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false}
		if of == reflect.TypeFor[decision]() || of == reflect.TypeFor[bulk]() {
			schemas[of.Name()].(object)["if"] = object{"properties": object{"decision": object{"const": "relabel"}}}
			schemas[of.Name()].(object)["then"] = object{"required": []string{"label"},
				"properties": object{"label": object{"minLength": 1}}}
		}
		if of == reflect.TypeFor[bulk]() { // ids, or where
			schemas[of.Name()].(object)["oneOf"] = []object{
				{"required": []string{"ids"}, "properties": object{"where": object{"const": ""}}},
				{"not": object{"required": []string{"ids"}}},
			}
		}
		return object{"$ref": "#/components/schemas/" + of.Name()}
	}
	panic(fmt.Sprintf("no schema of %s", of))
}

func addFields(of reflect.Type, schemas, properties object, required *[]string) {
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			addFields(field.Type, schemas, properties, required)
			continue
		}
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		properties[name] = schemaOf(field.Type, schemas)
		if rest != "omitempty" {
			*required = append(*required, name)
		}
	}
}
