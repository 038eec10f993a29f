use std::sync::Arc;

use portion_core::cursor::Scope;
use portion_core::event::Arm;
use portion_core::policy::{Given, Room};

use super::{Relayed, Rules, Treatment};
use crate::book::{Book, Experiment, Rollout, Target, Written};
use crate::call::EndpointKind;
use crate::session::Session;

/// A book in which pages are as long as the endpoint's name.
struct Names;

impl Book for Names {
    fn version(&self) -> u64 {
        7
    }

    fn written(&self, target: Option<Target<'_>>) -> Written {
        let size = target.filter(|target| target.upstream.is_none()).map(|target| target.name.len());
        Written { limits: Given { default_page_size: size, ..Given::default() }, ..Written::default() }
    }
}

fn target(name: &str) -> Target<'_> {
    Target { upstream: None, kind: EndpointKind::Tool, name }
}

#[test]
fn each_endpoint_has_a_rule_of_its_own_and_keeps_it() {
    let rules = Rules::new(Arc::new(Names), Room::UNKNOWN);
    let check = |target: Target<'_>, expect: usize| {
        let rule = rules.rule(target);
        assert_eq!(rule.terms(None).policy.default_page_size, expect, "{target:?}");
        assert!(Arc::ptr_eq(&rule, &rules.rule(target)), "it is worked out once");
    };
    check(target("list"), 4);
    check(target("search"), 6);
    check(Target { kind: EndpointKind::Prompt, ..target("list") }, 4);
    // What is written for everything is not worked out again.
    let other = Target { upstream: Some("other"), ..target("list") };
    check(other, 50);
    assert!(Arc::ptr_eq(&rules.rule(other), rules.general()));
    assert_eq!(rules.version(), 7);
}

#[test]
fn names_without_end_take_no_memory_without_end() {
    let rules = Rules::new(Arc::new(Names), Room::UNKNOWN);
    for n in 0..2 * super::KEPT {
        rules.rule(target(&format!("file:///{n:>9}")));
    }
    assert!(rules.kept.read().expect("nobody panics with it").len() <= super::KEPT);
}

/// How many of 1,000 sessions are dealt with so.
fn share(written: &Written, is: impl Fn(Treatment) -> bool) -> usize {
    let rules = Rules::new(Arc::new(written.clone()), Room::UNKNOWN);
    let session = |n: usize| Session::of(Scope::of("somebody"), &n.to_string());
    (0..1_000).filter(|n| is(rules.general().treatment(&session(*n)))).count()
}

fn rollout(percent: f64) -> Rollout {
    Rollout { percent, salt: "list_*".into() }
}

#[test]
fn a_rollout_only_ever_adds_sessions() {
    let rules = |percent| {
        let written = Written { rollout: rollout(percent), ..Written::default() };
        Rules::new(Arc::new(written), Room::UNKNOWN)
    };
    let steps = [0.0, 5.0, 25.0, 50.0, 100.0].map(rules);
    let mut shaped = [0; 5];
    for n in 0..1_000 {
        let session = Session::of(Scope::of("somebody"), &n.to_string());
        let is = steps.each_ref().map(|rules| rules.general().treatment(&session).relayed.is_none());
        assert!(is.is_sorted(), "a session that is in stays in: {n} {is:?}");
        assert_eq!(is, steps.each_ref().map(|rules| rules.general().treatment(&session).relayed.is_none()));
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
    let arm = |arm| move |treatment: Treatment| treatment.arm == arm;
    let plain = Written::default();
    assert_eq!(share(&plain, |treatment| treatment == Treatment::default()), 1_000);
    let shadow =
        Written { experiment: Experiment::Shadow, unshaped_byte_limit: Some(9), ..Written::default() };
    let relayed = Some(Relayed { limit: Some(9), shadow: true });
    let expect = Treatment { relayed, arm: Some(Arm::Unshaped) };
    assert_eq!(share(&shadow, |treatment| treatment == expect), 1_000);
    let split = Written { experiment: Experiment::Split(rollout(50.0)), ..Written::default() };
    let shaped = share(&split, arm(Some(Arm::Shaped)));
    assert!(shaped.abs_diff(500) < 60, "{shaped}");
    assert_eq!(share(&split, arm(Some(Arm::Unshaped))), 1_000 - shaped);
    // Who is not in the rollout is in no arm either; and one says nothing of the other.
    let both = Written { rollout: rollout(50.0), ..split.clone() };
    assert!(share(&both, arm(Some(Arm::Shaped))).abs_diff(250) < 60);
    assert!(share(&both, arm(None)).abs_diff(500) < 60);
    let dry = Written { dry_run: true, ..both };
    let relayed = Some(Relayed { limit: None, shadow: true });
    assert_eq!(share(&dry, |treatment| treatment == Treatment { relayed, arm: None }), 1_000);
}
