//! Groups sessions by arm and computes the measures.

use std::collections::BTreeMap;

use portion_core::error_code::ErrorCode;
use portion_core::event::{ExperimentArm, Outcome};

use super::{ArmSize, Design, Measure, Measured, Verdict};
use crate::record::Record;
use crate::statistics::{Estimate, Share, mean, mean_difference, share_difference};

/// Sessions by arm. Requests of a shadow experiment belong to the unshaped arm.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    shaped: BTreeMap<u64, Session>,
    unshaped: BTreeMap<u64, Session>,
}

impl Sessions {
    pub(super) fn add(&mut self, record: &Record) {
        let is_shaped =
            record.shadow.is_none() && record.arm.as_deref() == Some(ExperimentArm::Shaped.name());
        let arm = if is_shaped { &mut self.shaped } else { &mut self.unshaped };
        arm.entry(record.session).or_default().add(record);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shaped.is_empty() && self.unshaped.is_empty()
    }

    /// Returns the size of each arm, the shaped one first. In a shadow experiment both are the same.
    pub(super) fn sizes(&self, design: Design) -> (ArmSize, ArmSize) {
        let size = |sessions: &BTreeMap<u64, Session>| ArmSize {
            requests: sessions.values().map(|session| session.requests).sum(),
            sessions: sessions.len() as u64,
        };
        let unshaped = size(&self.unshaped);
        (if design == Design::Shadow { unshaped } else { size(&self.shaped) }, unshaped)
    }

    pub(super) fn measures(&self, design: Design) -> Vec<Measured> {
        let measured = |measure| match design {
            Design::Split => Some(self.split(measure)),
            Design::Shadow => self.shadow(measure),
        };
        Measure::ALL.into_iter().filter_map(measured).collect()
    }

    fn split(&self, measure: Measure) -> Measured {
        let of_session: fn(&Session) -> Option<f64> = match measure {
            Measure::Tokens => |session| session.tokens.mean(),
            Measure::TokensPerCall => |session| {
                let counted = session.tokens.count == session.requests;
                (counted && session.first() > 0).then(|| session.tokens.total / session.first() as f64)
            },
            Measure::Bytes => |session| session.bytes.mean(),
            Measure::Latency => |session| session.latency.mean(),
            Measure::Overhead => |session| session.overhead.mean(),
            Measure::FollowUps => {
                |session| (session.first() > 0).then(|| session.follow_ups as f64 / session.first() as f64)
            }
            Measure::Errors => return self.shares(measure, |session| (session.errors, session.requests)),
            Measure::Finished => return self.shares(measure, |session| (u64::from(session.finished()), 1)),
        };
        let sample = |sessions: &BTreeMap<u64, Session>| -> Vec<f64> {
            sessions.values().filter_map(of_session).collect()
        };
        let (shaped, unshaped) = (sample(&self.shaped), sample(&self.unshaped));
        let difference = mean_difference(&shaped, &unshaped);
        Measured {
            measure,
            shaped: mean(&shaped),
            unshaped: mean(&unshaped),
            difference,
            verdict: Verdict::on(difference, shaped.len().min(unshaped.len())),
        }
    }

    fn shares(&self, measure: Measure, counts: fn(&Session) -> (u64, u64)) -> Measured {
        let share = |sessions: &BTreeMap<u64, Session>| Share::of(sessions.values().map(counts));
        let (shaped, unshaped) = (share(&self.shaped), share(&self.unshaped));
        let difference = shaped.zip(unshaped).map(|(shaped, unshaped)| share_difference(shaped, unshaped));
        Measured {
            measure,
            shaped: shaped.map(Share::estimate),
            unshaped: unshaped.map(Share::estimate),
            difference,
            verdict: Verdict::on(difference, self.shaped.len().min(self.unshaped.len())),
        }
    }

    /// Compares recorded replies with their shadow replies, session by session. Follow-ups that a caller would have
    /// sent are not known.
    fn shadow(&self, measure: Measure) -> Option<Measured> {
        let pairs: fn(&Session) -> &PairedSums = match measure {
            Measure::Tokens => |session| &session.shadow.tokens,
            Measure::Bytes => |session| &session.shadow.bytes,
            Measure::Overhead => |session| &session.shadow.overhead,
            _ => return None,
        };
        let means = |session| {
            let PairedSums { served, tried } = pairs(session);
            served.mean().zip(tried.mean())
        };
        let (served, tried): (Vec<f64>, Vec<f64>) = self.unshaped.values().filter_map(means).unzip();
        let apart: Vec<f64> = tried.iter().zip(&served).map(|(tried, served)| tried - served).collect();
        let difference: Option<Estimate> = mean(&apart);
        let verdict = Verdict::on(difference, apart.len());
        Some(Measured { measure, shaped: mean(&tried), unshaped: mean(&served), difference, verdict })
    }
}

/// Sums of one session within an arm.
#[derive(Clone, Debug, Default)]
struct Session {
    requests: u64,
    follow_ups: u64,
    errors: u64,
    tokens: Sum,
    bytes: Sum,
    latency: Sum,
    overhead: Sum,
    /// Recorded and shadow replies of the same requests.
    shadow: ShadowSums,
    /// Time of the last request, and true if it ended in an error.
    last: Option<(u64, bool)>,
    /// A follow-up found its snapshot gone.
    lost_snapshot: bool,
}

/// Sums over requests with a shadow reply.
#[derive(Clone, Debug, Default)]
pub(super) struct ShadowSums {
    pub(super) tokens: PairedSums,
    pub(super) bytes: PairedSums,
    pub(super) overhead: PairedSums,
}

/// Sums of the recorded replies and of their shadow replies.
#[derive(Clone, Debug, Default)]
pub(super) struct PairedSums {
    pub(super) served: Sum,
    pub(super) tried: Sum,
}

/// A sum and the number of its terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) total: f64,
}

impl Session {
    fn add(&mut self, record: &Record) {
        let failed = record.error.is_some();
        self.requests += 1;
        self.follow_ups += u64::from(record.follow_up);
        self.errors += u64::from(failed);
        let served = record.served_tokens();
        self.tokens.add(served.map(|tokens| tokens as f64));
        self.bytes.add(Some(record.response_bytes as f64));
        self.latency.add(Some(millis(record.latency)));
        self.overhead.add(Some(millis(record.overhead)));
        if let Some(shadow) = &record.shadow {
            self.shadow.tokens.add(served.map(|served| (served as f64, shadow.tokens as f64)));
            self.shadow.bytes.add(Some((record.response_bytes as f64, shadow.bytes as f64)));
            // In a real experiment, shaping adds to the time spent without it.
            let (without, making) = (millis(record.overhead), millis(shadow.overhead));
            self.shadow.overhead.add(Some((without, without + making)));
        }
        self.last = self.last.max(Some((record.at, failed)));
        let gone = [ErrorCode::CursorExpired, ErrorCode::CursorInvalid]
            .iter()
            .any(|code| record.error.as_deref() == Some(code.name()));
        self.lost_snapshot |= gone || record.outcome == Outcome::Expired.name();
    }

    /// Returns the number of first calls.
    fn first(&self) -> u64 {
        self.requests.saturating_sub(self.follow_ups)
    }

    /// Returns true if the session finished, as far as a proxy can see: the last request was not an error, and no
    /// follow-up found its snapshot gone. A session that gave up without an error also counts as finished.
    fn finished(&self) -> bool {
        !self.lost_snapshot && !self.last.is_some_and(|(_, failed)| failed)
    }
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.count += 1;
            self.total += value;
        }
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total / self.count as f64)
    }
}

impl PairedSums {
    fn add(&mut self, pair: Option<(f64, f64)>) {
        self.served.add(pair.map(|(served, _)| served));
        self.tried.add(pair.map(|(_, tried)| tried));
    }
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
