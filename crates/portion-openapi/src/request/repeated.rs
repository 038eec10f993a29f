//! Lists of values in a path, of which each makes a request of its own: `{"grade": [9, 10]}`.

use serde_json::value::RawValue;

use crate::arguments::{ArgumentError, Members, Shape};
use crate::described::RequestTemplate;

/// Most requests of one call.
const MAX_REQUESTS: usize = 20;

impl RequestTemplate {
    /// Returns the arguments of each request of a call.
    pub(super) fn arguments_of_requests(&self, members: Members) -> Result<Vec<Members>, ArgumentError> {
        let mut all = vec![members];
        for (argument, member) in self.path.repeated_members() {
            let mut expanded = Vec::new();
            for members in all {
                match listed(&members, argument, member) {
                    None => expanded.push(members),
                    Some(values) => expanded
                        .extend(values.iter().map(|value| members.with_member(argument, member, value))),
                }
                if expanded.len() > MAX_REQUESTS {
                    return Err(ArgumentError::TooManyRequests(format!("{argument}.{member}"), MAX_REQUESTS));
                }
            }
            all = expanded;
        }
        Ok(all)
    }
}

/// Returns the different values of a member that is a list with values.
fn listed(members: &Members, argument: &str, member: &str) -> Option<Vec<Box<RawValue>>> {
    let Shape::Object(object) = Shape::of(members.get(argument)?) else { return None };
    let Shape::List(values) = Shape::of(object.get(member)?) else { return None };
    let mut different: Vec<Box<RawValue>> = Vec::new();
    for value in values {
        if different.iter().all(|other| other.get() != value.get()) {
            different.push(value);
        }
    }
    (!different.is_empty()).then_some(different)
}
