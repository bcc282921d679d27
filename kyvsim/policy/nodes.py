"""All nodes of policies. Loads every module with nodes, so it is for tools that need all."""

from typing import TypeAlias

from kyvsim.policy import cel_policy, images, rule, tree

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
    | rule.JsonPatch
    | rule.ForEachMutation
    | rule.MutateTarget
    | rule.Mutate
    | rule.Clone
    | rule.CloneList
    | rule.GenerateTarget
    | rule.ForEachGeneration
    | rule.Generate
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
    | cel_policy.CelExpression
    | tree.NamedExpression
    | cel_policy.ParamKind
    | cel_policy.ParamRef
    | cel_policy.CelValidation
)
