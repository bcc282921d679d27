// Asks the type checker of Kubernetes' API server about the policies of type_warnings.jsonl.
//
// Needs a module that requires github.com/kyverno/kyverno v1.19.0. SCHEMAS is the folder
// pkg/openapiclient/builtins/1.35 of sigs.k8s.io/kubectl-validate:
//
//	go run record_type_warnings.go SCHEMAS kyvsim/kubernetes/kubernetes-1.35.json type_warnings.jsonl
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

type schemas string

func (folder schemas) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	path := filepath.Join(string(folder), "api", kind.Version+".json")
	if kind.Group != "" {
		path = filepath.Join(string(folder), "apis", kind.Group, kind.Version+".json")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, resolver.ErrSchemaNotFound
	}
	var document struct {
		Components struct{ Schemas map[string]*spec.Schema }
	}
	check(json.Unmarshal(data, &document))
	known := document.Components.Schemas
	find := func(reference string) (*spec.Schema, bool) {
		found, ok := known[strings.TrimPrefix(reference, "#/components/schemas/")]
		return found, ok
	}
	for name, one := range known {
		var kinds []schema.GroupVersionKind
		check(one.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds))
		for _, each := range kinds {
			if each == kind {
				return resolver.PopulateRefs(find, name)
			}
		}
	}
	return nil, resolver.ErrSchemaNotFound
}

func mapper(path string) meta.RESTMapper {
	var table struct {
		Groups map[string]struct {
			Kinds map[string]struct {
				Plural   string
				Versions []string
			}
		}
	}
	data, err := os.ReadFile(path)
	check(err)
	check(json.Unmarshal(data, &table))
	made := meta.NewDefaultRESTMapper(nil)
	for group, known := range table.Groups {
		for kind, facts := range known.Kinds {
			for _, version := range facts.Versions {
				at := schema.GroupVersion{Group: group, Version: version}
				one := at.WithResource(strings.ToLower(kind))
				made.AddSpecific(at.WithKind(kind), at.WithResource(facts.Plural), one, meta.RESTScopeRoot)
			}
		}
	}
	return made
}

type recorded struct {
	Spec     v1.ValidatingAdmissionPolicySpec `json:"spec"`
	Warnings []v1.ExpressionWarning           `json:"warnings"`
}

func main() {
	checker := &validating.TypeChecker{SchemaResolver: schemas(os.Args[1]), RestMapper: mapper(os.Args[2])}
	data, err := os.ReadFile(os.Args[3])
	check(err)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for decoder := json.NewDecoder(bytes.NewReader(data)); decoder.More(); {
		var asked recorded
		check(decoder.Decode(&asked))
		asked.Warnings = checker.Check(&v1.ValidatingAdmissionPolicy{Spec: asked.Spec})
		check(encoder.Encode(asked))
	}
	check(os.WriteFile(os.Args[3], out.Bytes(), 0o644))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
