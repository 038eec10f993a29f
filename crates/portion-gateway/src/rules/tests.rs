use std::sync::Arc;

use portion_core::cursor::Scope;
use portion_core::event::ExperimentArm;
use portion_core::policy::{ClientLimits, LimitOverrides};
use portion_policy::client::ClientProfile;
use portion_policy::endpoint::{
    EndpointConfig, EndpointKind, EndpointTarget, Experiment, PolicySource, Rollout,
};

use super::{EndpointRules, PassThrough, ShapingMode};
use crate::session::ClientSession;

/// Policy source in which page sizes equal the length of the endpoint's name.
struct Names;

impl PolicySource for Names {
    fn version(&self) -> u64 {
        7
    }

    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig {
        let size = target.filter(|target| target.upstream.is_none()).map(|target| target.name.len());
        EndpointConfig {
            limits: LimitOverrides { default_page_size: size, ..LimitOverrides::default() },
            ..EndpointConfig::default()
        }
    }
}

fn target(name: &str) -> EndpointTarget<'_> {
    EndpointTarget { upstream: None, kind: EndpointKind::Tool, name }
}

#[test]
fn each_endpoint_has_its_own_cached_rule() {
    let rules = EndpointRules::new(Arc::new(Names), ClientLimits::UNKNOWN);
    let check = |target: EndpointTarget<'_>, expect: usize| {
        let rule = rules.rule_for(target);
        assert_eq!(rule.policy_for_client(None).policy.default_page_size, expect, "{target:?}");
        assert!(Arc::ptr_eq(&rule, &rules.rule_for(target)), "it is worked out once");
    };
    check(target("list"), 4);
    check(target("search"), 6);
    check(EndpointTarget { kind: EndpointKind::Prompt, ..target("list") }, 4);
    // A rule equal to the default one is shared.
    let other = EndpointTarget { upstream: Some("other"), ..target("list") };
    check(other, 50);
    assert!(Arc::ptr_eq(&rules.rule_for(other), rules.default_rule()));
    assert_eq!(rules.version(), 7);
}

#[test]
fn the_number_of_cached_names_is_limited() {
    let rules = EndpointRules::new(Arc::new(Names), ClientLimits::UNKNOWN);
    for n in 0..2 * super::MAX_CACHED_NAMES {
        rules.rule_for(target(&format!("file:///{n:>9}")));
    }
    assert!(rules.cache.read().len() <= super::MAX_CACHED_NAMES);
}

/// Returns the number of sessions among 1,000 whose shaping mode satisfies `is`.
fn share(written: &EndpointConfig, is: impl Fn(ShapingMode) -> bool) -> usize {
    let rules = EndpointRules::new(Arc::new(written.clone()), ClientLimits::UNKNOWN);
    let session = |n: usize| ClientSession::with_id(Scope::from_principal("somebody"), &n.to_string());
    (0..1_000).filter(|n| is(rules.default_rule().shaping_mode(&session(*n)))).count()
}

fn rollout(percent: f64) -> Rollout {
    Rollout { percent, salt: "list_*".into() }
}

#[test]
fn a_rollout_only_ever_adds_sessions() {
    let rules = |percent| {
        let written = EndpointConfig { rollout: rollout(percent), ..EndpointConfig::default() };
        EndpointRules::new(Arc::new(written), ClientLimits::UNKNOWN)
    };
    let steps = [0.0, 5.0, 25.0, 50.0, 100.0].map(rules);
    let mut shaped = [0; 5];
    for n in 0..1_000 {
        let session = ClientSession::with_id(Scope::from_principal("somebody"), &n.to_string());
        let is =
            steps.each_ref().map(|rules| rules.default_rule().shaping_mode(&session).pass_through.is_none());
        assert!(is.is_sorted(), "a session that is in stays in: {n} {is:?}");
        assert_eq!(
            is,
            steps.each_ref().map(|rules| rules.default_rule().shaping_mode(&session).pass_through.is_none())
        );
        for (i, is) in is.into_iter().enumerate() {
            shaped[i] += usize::from(is);
        }
    }
    assert_eq!((shaped[0], shaped[4]), (0, 1_000));
    for (shaped, percent) in shaped.into_iter().zip([0_usize, 5, 25, 50, 100]) {
        assert!(shaped.abs_diff(10 * percent) < 50, "{shaped} of 1000 for {percent} %");
    }
}

#[test]
fn experiments_have_their_arms() {
    let arm = |arm| move |treatment: ShapingMode| treatment.arm == arm;
    let plain = EndpointConfig::default();
    assert_eq!(share(&plain, |treatment| treatment == ShapingMode::default()), 1_000);
    let shadow = EndpointConfig {
        experiment: Experiment::Shadow,
        unshaped_byte_limit: Some(9),
        ..EndpointConfig::default()
    };
    let relayed = Some(PassThrough { max_bytes: Some(9), records_shadow: true });
    let expect = ShapingMode { pass_through: relayed, arm: Some(ExperimentArm::Unshaped) };
    assert_eq!(share(&shadow, |treatment| treatment == expect), 1_000);
    let split = EndpointConfig { experiment: Experiment::Split(rollout(50.0)), ..EndpointConfig::default() };
    let shaped = share(&split, arm(Some(ExperimentArm::Shaped)));
    assert!(shaped.abs_diff(500) < 60, "{shaped}");
    assert_eq!(share(&split, arm(Some(ExperimentArm::Unshaped))), 1_000 - shaped);
    // Sessions outside the rollout are in no arm; rollout and experiment are independent.
    let both = EndpointConfig { rollout: rollout(50.0), ..split.clone() };
    assert!(share(&both, arm(Some(ExperimentArm::Shaped))).abs_diff(250) < 60);
    assert!(share(&both, arm(None)).abs_diff(500) < 60);
    let dry = EndpointConfig { dry_run: true, ..both };
    let relayed = Some(PassThrough { max_bytes: None, records_shadow: true });
    assert_eq!(share(&dry, |treatment| treatment == ShapingMode { pass_through: relayed, arm: None }), 1_000);
}

#[test]
fn a_reply_with_everything_is_below_what_its_client_takes() {
    let rules = EndpointRules::new(Arc::new(EndpointConfig::default()), ClientLimits::UNKNOWN);
    let largest = |name: &str| rules.default_rule().largest_reply_bytes(ClientProfile::find_by_name(name));
    assert_eq!(["claude-code", "codex", "somebody"].map(largest), [450_000, 1 << 20, 1 << 20]);
}
