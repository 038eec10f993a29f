//! Members around a list that are stripped, or replaced by a shorter value.

use std::collections::{BTreeSet, HashMap};

use portion_json::scan::{JsonKind, minified, unescape};

use crate::noise::write_without_named;
use crate::policy::StripRule;
use crate::snapshot::OrderedList;

/// Replaced members by level and index: `None` for a stripped member, otherwise its value without noise.
pub(super) type MemberOverrides = HashMap<(usize, usize), Option<String>>;

/// Largest member, in bytes, that is searched for noise. Larger ones rarely fit.
pub(super) const MAX_SCANNED_BYTES: usize = 4 << 10;

/// Returns the members that the rule strips, or whose values it shortens, and those about the page, which stay. `gone`
/// receives the paths of what is stripped.
pub(super) fn strip_members(
    rows: OrderedList<'_>,
    strip: Option<&StripRule>,
    paging: &HashMap<(usize, usize), String>,
    gone: &mut BTreeSet<String>,
) -> MemberOverrides {
    let mut lean: MemberOverrides =
        paging.iter().map(|(place, json)| (*place, Some(minified(json)))).collect();
    let Some(strip) = strip else { return lean };
    let mut path = String::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let before = path.len();
        for (at, member) in level.members.iter().enumerate() {
            path.truncate(before);
            path.push_str(if before > 0 { "." } else { "" });
            path.push_str(&unescape(rows.slice(member.key)));
            if at == level.list_member || paging.contains_key(&(depth, at)) {
                continue;
            }
            if strip.strips_member(&path, member.value.len(), rows.text.len()) {
                gone.insert(path.clone());
                lean.insert((depth, at), None);
            } else if matches!(member.kind, JsonKind::Object | JsonKind::Array)
                && member.value.len() <= MAX_SCANNED_BYTES
            {
                let (mut value, mut inside) = (String::new(), BTreeSet::new());
                write_without_named(strip, rows.slice(member.value), &path, &mut value, &mut inside);
                if !inside.is_empty() {
                    gone.append(&mut inside);
                    // A member without remaining content is stripped whole.
                    lean.insert((depth, at), Some(value).filter(|value| !value.is_empty()));
                }
            }
        }
        path.truncate(before);
        path.push_str(if before > 0 { "." } else { "" });
        path.push_str(&unescape(rows.slice(level.members[level.list_member].key)));
    }
    lean
}
