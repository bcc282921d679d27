"""All nodes of policies. Loads every module that has some, so it is for tools that need all."""

from typing import TypeAlias

from kyvsim.policy import cel, generation, images, mutation, rule, tree

Node: TypeAlias = (
    tree.Condition
    | tree.ConditionGroup
    | tree.Conditions
    | tree.Subject
    | tree.ResourceFilter
    | tree.MatchBlock
    | tree.PatternEntry
    | tree.PatternMap
    | tree.PatternList
    | tree.PatternLeaf
    | tree.Pattern
    | tree.VariableEntry
    | tree.ConfigMapEntry
    | tree.ApiCallEntry
    | tree.GlobalReferenceEntry
    | tree.ImageRegistryEntry
    | tree.Deny
    | tree.PodSecurityExclusion
    | tree.PodSecurity
    | rule.FailureOverride
    | rule.ForEachValidation
    | rule.Validate
    | rule.RuleNode
    | rule.WebhookConfiguration
    | rule.PolicyNode
    | mutation.JsonPatch
    | mutation.ForEachMutation
    | mutation.MutateTarget
    | mutation.Mutate
    | generation.Clone
    | generation.CloneList
    | generation.GenerateTarget
    | generation.ForEachGeneration
    | generation.Generate
    | images.ManifestObject
    | images.IgnoredFields
    | images.Manifests
    | images.ImageExtractor
    | images.ImageExtractors
    | images.Rekor
    | images.CTLog
    | images.Keys
    | images.Certificates
    | images.Keyless
    | images.Attestor
    | images.AttestorSet
    | images.Attestation
    | images.ImageValidation
    | images.ImageVerification
    | cel.CelExpression
    | cel.NamedExpression
    | cel.ParamKind
    | cel.ParamRef
    | cel.CelValidation
)
