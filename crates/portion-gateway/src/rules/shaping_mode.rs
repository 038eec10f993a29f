//! Whether replies are shaped for a session: not where an endpoint is being rolled out to others first, not in the other
//! arm of an experiment, not in a dry run.
//!
//! A session is always dealt the same: what decides is a hash of it, which a larger share only adds sessions to.

use portion_core::event::ExperimentArm;

use super::EndpointRule;
use crate::policy_source::{EndpointConfig, Experiment, Rollout};
use crate::session::ClientSession;

/// What is done with the replies of an endpoint in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapingMode {
    /// Set where they are relayed as they come.
    pub pass_through: Option<PassThrough>,
    /// The arm that the session is in, where there is an experiment.
    pub arm: Option<ExperimentArm>,
}

/// How replies are relayed that are not shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassThrough {
    /// Bytes of a payload above which it is shaped all the same.
    pub max_bytes: Option<usize>,
    /// Whether it is told what shaping would have made of them.
    pub records_shadow: bool,
}

impl EndpointRule {
    /// Whether our controls are taken on calls of the endpoint itself; `None` where its schema decides. Where replies are
    /// relayed, none are but those that were advertised before.
    pub fn controls(&self, treatment: ShapingMode) -> Option<bool> {
        if treatment.pass_through.is_some() { Some(false) } else { self.config.controls }
    }

    /// Whether replies are shaped in any session.
    pub fn shapes_any_session(&self) -> bool {
        let EndpointConfig { rollout, experiment, dry_run, .. } = &self.config;
        !dry_run && rollout.percent > 0.0 && *experiment != Experiment::Shadow
    }

    /// What is done with the endpoint's replies in a session.
    pub fn shaping_mode(&self, session: &ClientSession) -> ShapingMode {
        let EndpointConfig { rollout, experiment, unshaped_byte_limit: limit, dry_run, .. } = &self.config;
        let relayed = |shadow| Some(PassThrough { max_bytes: *limit, records_shadow: shadow });
        if *dry_run {
            return ShapingMode {
                pass_through: Some(PassThrough { max_bytes: None, records_shadow: true }),
                arm: None,
            };
        }
        if !is_selected(session, "rollout", rollout) {
            return ShapingMode { pass_through: relayed(false), arm: None };
        }
        match experiment {
            Experiment::None => ShapingMode::default(),
            Experiment::Shadow => {
                ShapingMode { pass_through: relayed(true), arm: Some(ExperimentArm::Unshaped) }
            }
            Experiment::Split(split) if is_selected(session, "split", split) => {
                ShapingMode { pass_through: None, arm: Some(ExperimentArm::Shaped) }
            }
            Experiment::Split(_) => {
                ShapingMode { pass_through: relayed(false), arm: Some(ExperimentArm::Unshaped) }
            }
        }
    }
}

fn is_selected(session: &ClientSession, purpose: &str, rollout: &Rollout) -> bool {
    let Rollout { percent, salt } = rollout;
    // Nearly always it is everybody, and then nothing need be worked out.
    *percent >= 100.0 || (*percent > 0.0 && session.uniform_hash(purpose, salt) * 100.0 < *percent)
}
