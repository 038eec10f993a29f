//! Decides if replies are shaped in a session: not outside a rollout, not in the unshaped arm of an
//! experiment, not in a dry run.
//!
//! The decision is stable: it depends on a hash of the session, and a larger share only adds sessions.

use portion_core::event::ExperimentArm;
use portion_policy::endpoint::{EndpointConfig, Experiment, Rollout};

use super::EndpointRule;
use crate::session::ClientSession;

/// Shaping of an endpoint's replies in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapingMode {
    /// Set if replies are relayed unshaped.
    pub pass_through: Option<PassThrough>,
    /// Arm of the session, if there is an experiment.
    pub arm: Option<ExperimentArm>,
}

/// Options for replies that are relayed unshaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassThrough {
    /// Payload size in bytes above which replies are shaped nevertheless.
    pub max_bytes: Option<usize>,
    /// True if the simulated shaping is recorded.
    pub records_shadow: bool,
}

impl EndpointRule {
    /// Returns true if controls are accepted on calls of the endpoint itself; `None` if its schema decides.
    /// Endpoints that are relayed accept only controls that were advertised before.
    pub fn controls(&self, shaping_mode: ShapingMode) -> Option<bool> {
        if shaping_mode.pass_through.is_some() { Some(false) } else { self.config.controls }
    }

    /// Returns true if replies are shaped in any session.
    pub fn shapes_any_session(&self) -> bool {
        let EndpointConfig { rollout, experiment, dry_run, .. } = &self.config;
        !dry_run && rollout.percent > 0.0 && *experiment != Experiment::Shadow
    }

    /// Returns the shaping of the endpoint's replies in a session.
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
    // Nearly always all sessions are selected, and no hash is needed.
    *percent >= 100.0 || (*percent > 0.0 && session.uniform_hash(purpose, salt) * 100.0 < *percent)
}
