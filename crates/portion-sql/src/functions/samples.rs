//! Aggregate functions that keep the values of a group: medians, quantiles, the mode, the row of an extreme.
//!
//! SQLite does not count their memory, so all groups of a statement share a limit.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};

use rusqlite::Result;
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{Value, ValueRef};

use super::values::{
    PURE, Registry, compare_values, function_error, interrupted_error, number_argument, owned_value,
};
use crate::limits::{QueryDeadline, QueryLimits, StopReason};

pub(super) fn register(
    registry: Registry<'_>,
    deadline: &Arc<QueryDeadline>,
    limits: &QueryLimits,
) -> Result<()> {
    let meter = Arc::new(MemoryMeter {
        used: AtomicUsize::new(0),
        max: limits.max_heap_bytes,
        deadline: Arc::clone(deadline),
    });
    for (names, arguments, measure) in QUANTILES {
        for name in registry.wanted_of(names) {
            let quantile = Quantile { measure, meter: Arc::clone(&meter) };
            registry.connection.create_aggregate_function(name, arguments, PURE, quantile)?;
        }
    }
    for (names, arguments, replaces) in EXTREMES {
        for name in registry.wanted_of(names) {
            let extreme = Extreme { replaces, meter: Arc::clone(&meter) };
            registry.connection.create_aggregate_function(name, arguments, PURE, extreme)?;
        }
    }
    Ok(())
}

/// Memory of all groups of a statement.
struct MemoryMeter {
    used: AtomicUsize,
    max: usize,
    deadline: Arc<QueryDeadline>,
}

impl MemoryMeter {
    fn add(&self, bytes: usize) -> Result<()> {
        if self.used.fetch_add(bytes, AtomicOrdering::Relaxed) + bytes > self.max {
            self.deadline.stop(StopReason::Memory);
            return Err(interrupted_error());
        }
        Ok(())
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, AtomicOrdering::Relaxed);
    }
}

/// Result that is computed from the sorted values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// The value at a share, between two neighbours if it is between them.
    Continuous,
    /// The first value at or after a share.
    Discrete,
    /// The same as `Continuous`, with a percentage.
    Percent,
    /// The most frequent value.
    Mode,
}

const QUANTILES: [(&str, i32, Measure); 5] = [
    ("median", 1, Measure::Continuous),
    ("percentile_cont quantile quantile_cont approx_percentile", 2, Measure::Continuous),
    ("percentile_disc quantile_disc", 2, Measure::Discrete),
    ("percentile", 2, Measure::Percent),
    ("mode most_common", 1, Measure::Mode),
];

struct Quantile {
    measure: Measure,
    meter: Arc<MemoryMeter>,
}

/// The values of a group, and the share that is wanted.
#[derive(Default)]
struct Sample {
    values: Vec<Value>,
    share: Option<f64>,
    bytes: usize,
}

impl Aggregate<Sample, Value> for Quantile {
    fn init(&self, _: &mut Context<'_>) -> Result<Sample> {
        Ok(Sample::default())
    }

    fn step(&self, context: &mut Context<'_>, sample: &mut Sample) -> Result<()> {
        if context.len() == 2 && sample.share.is_none() {
            sample.share = Some(self.share(context)?);
        }
        let value = match context.get_raw(0) {
            ValueRef::Null => return Ok(()),
            // Columns of CSV may have numbers as texts.
            ValueRef::Text(_) if matches!(self.measure, Measure::Continuous | Measure::Percent) => {
                match number_argument(context, 0) {
                    Some(n) => Value::Real(n),
                    None => return Ok(()),
                }
            }
            value => owned_value(value),
        };
        let bytes = value_bytes(&value);
        self.meter.add(bytes)?;
        sample.bytes += bytes;
        sample.values.push(value);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sample: Option<Sample>) -> Result<Value> {
        let Some(mut sample) = sample else { return Ok(Value::Null) };
        self.meter.release(sample.bytes);
        if self.meter.deadline.is_over() {
            return Err(interrupted_error());
        }
        sample.values.sort_unstable_by(compare);
        Ok(match self.measure {
            // Of several values, the smallest.
            Measure::Mode => {
                let runs = sample.values.chunk_by(|a, b| compare(a, b).is_eq());
                let longest = runs.reduce(|best, run| if run.len() > best.len() { run } else { best });
                longest.map_or(Value::Null, |run| run[0].clone())
            }
            Measure::Discrete => {
                let place = (sample.share.unwrap_or(0.5) * sample.values.len() as f64).ceil() as usize;
                sample.values.get(place.saturating_sub(1)).cloned().unwrap_or(Value::Null)
            }
            Measure::Continuous | Measure::Percent => continuous(&sample.values, sample.share.unwrap_or(0.5)),
        })
    }
}

impl Quantile {
    /// Returns the share, from 0 to 1.
    fn share(&self, context: &Context<'_>) -> Result<f64> {
        let (scale, name) =
            if self.measure == Measure::Percent { (100.0, "0 to 100") } else { (1.0, "0 to 1") };
        let share = number_argument(context, 1).filter(|share| (0.0..=scale).contains(share));
        share.map(|share| share / scale).ok_or_else(|| {
            function_error(format!(
                "the second argument is the share, from {name}: percentile_cont(price, 0.5)"
            ))
        })
    }
}

fn value_bytes(value: &Value) -> usize {
    let text = match value {
        Value::Text(text) => text.capacity(),
        Value::Blob(bytes) => bytes.capacity(),
        Value::Null | Value::Integer(_) | Value::Real(_) => 0,
    };
    // A vector may have twice the capacity that it needs.
    text + 2 * size_of::<Value>()
}

fn compare(a: &Value, b: &Value) -> Ordering {
    compare_values(a.into(), b.into())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(n) => Some(*n as f64),
        Value::Real(n) => Some(*n),
        Value::Null | Value::Text(_) | Value::Blob(_) => None,
    }
}

fn continuous(values: &[Value], share: f64) -> Value {
    let Some(last) = values.len().checked_sub(1) else { return Value::Null };
    let place = share * last as f64;
    let at = |place: f64| values.get((place as usize).min(last)).and_then(number);
    let (Some(below), Some(above)) = (at(place.floor()), at(place.ceil())) else { return Value::Null };
    Value::Real(below + (above - below) * place.fract())
}

/// A condition for the order of a key after the one of the value that is kept, with which its value replaces that.
type Replaces = fn(Ordering) -> bool;

/// Names of aggregates that return one value, and their arguments.
const EXTREMES: [(&str, i32, Replaces); 4] = [
    ("arg_max max_by", 2, Ordering::is_gt),
    ("arg_min min_by", 2, Ordering::is_lt),
    ("any_value first", 1, |_| false),
    ("last", 1, |_| true),
];

/// One value that is not NULL: where another one is greatest or least, the first or the last.
struct Extreme {
    replaces: Replaces,
    meter: Arc<MemoryMeter>,
}

/// The best key so far, its value, and their bytes.
type Best = Option<(Value, Value, usize)>;

impl Aggregate<Best, Value> for Extreme {
    fn init(&self, _: &mut Context<'_>) -> Result<Best> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, best: &mut Best) -> Result<()> {
        let key = if context.len() > 1 { owned_value(context.get_raw(1)) } else { Value::Integer(0) };
        if key == Value::Null || context.get_raw(0) == ValueRef::Null {
            return Ok(());
        }
        if best.as_ref().is_none_or(|(best, _, _)| (self.replaces)(compare(&key, best))) {
            let value = owned_value(context.get_raw(0));
            let bytes = value_bytes(&key) + value_bytes(&value);
            self.meter.add(bytes)?;
            if let Some((_, _, bytes)) = best.replace((key, value, bytes)) {
                self.meter.release(bytes);
            }
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, best: Option<Best>) -> Result<Value> {
        let Some((_, value, bytes)) = best.flatten() else { return Ok(Value::Null) };
        self.meter.release(bytes);
        Ok(value)
    }
}
