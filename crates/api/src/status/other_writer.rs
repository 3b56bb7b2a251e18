//! The advice about other field managers that set the same field as a policy. The name that an API server records for a
//! write identifies the project of the field manager. Other modules detect the writes.

use almanac_engine::Field;

/// The start of the name of a `HorizontalAutoscaler`. Almanac records its own policies by name, instead of a field
/// manager.
const AUTOSCALER: &str = "HorizontalAutoscaler.autoscaling.karpenter.sh ";

/// The advice about another field manager that sets a field, if its project is known.
#[must_use]
pub fn advice(manager: &str, field: Field) -> Option<String> {
    let is = |names: &[&str]| names.contains(&manager);
    if manager.starts_with("argocd") {
        return Some(format!(
            "Argo CD applies its repository: add /spec/{field} to ignoreDifferences of the Application and \
             RespectIgnoreDifferences=true to its syncOptions"
        ));
    }
    if is(&["kustomize-controller", "gotk", "flux"]) {
        let by = if field == Field::Replicas { "kubectl scale" } else { "kubectl patch" };
        return Some(format!(
            "Flux applies its repository: suspend it, set spec.{field} once by {by}, so that it is no longer \
             Flux's, leave it out of the manifest, and resume"
        ));
    }
    if is(&["helm-controller", "helm", "Helm"]) {
        return Some(format!(
            "Helm applies its chart: have the template leave spec.{field} out; that upgrade sets its default once"
        ));
    }
    if manager.starts_with("keda") {
        return Some(
            "KEDA applies its ScaledObject: set minReplicaCount and maxReplicaCount there, or scale the target with only \
             one of them"
                .to_owned(),
        );
    }
    if manager == "kube-controller-manager" && field == Field::Replicas {
        return Some(
            "a HorizontalPodAutoscaler probably scales the same target: make it the target of the policy, with bounds in \
             place of replicas"
                .to_owned(),
        );
    }
    if manager.starts_with(AUTOSCALER) {
        return Some(format!("{manager} scales the same target: scale it with only one of them"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_field_manager_has_advice() {
        for (manager, part) in [
            ("argocd-controller", "RespectIgnoreDifferences=true"),
            ("argocd-application-controller", "/spec/replicas"),
            ("kustomize-controller", "Flux"),
            ("helm-controller", "chart"),
            ("keda-operator", "ScaledObject"),
            ("kube-controller-manager", "HorizontalPodAutoscaler"),
            ("HorizontalAutoscaler.autoscaling.karpenter.sh shop/web", "with only one of them"),
        ] {
            let advice = advice(manager, Field::Replicas).expect("a known value");
            assert!(advice.contains(part), "{manager}: {advice}");
        }
        assert_eq!(advice("kubectl-edit", Field::Replicas), None, "a person means it");
        assert_eq!(advice("kube-controller-manager", Field::MinReplicas), None);
    }
}
