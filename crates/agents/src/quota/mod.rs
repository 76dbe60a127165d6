//! Recognises messages with which a vendor refuses turns for now, and until when (the `[[quota]]` table). The
//! caller provides the current time.

mod reset;

use proto::agent::{Evidence, Quota};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::detect::Pattern;

pub use reset::Now;
pub(crate) use reset::instant;

/// One form of such a message.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaSpec {
    /// Its name.
    pub id: String,
    /// The pattern; `(?<at>…)` is the time at which it ends, `(?<in>…)` the time until then.
    pub pattern: Pattern,
}

/// Returns the quota that a message states, if it is about one.
#[must_use]
pub fn read(specs: &[QuotaSpec], message: &str, now: &Now) -> Option<Quota> {
    specs.iter().find_map(|spec| {
        let found = spec.pattern.captures(message)?;
        let at = || reset::reset_time(found.name("at")?.as_str(), now);
        let after = || reset::after(found.name("in")?.as_str(), now);
        Some(Quota { reset_at: at().or_else(after) })
    })
}

/// Adds the quota stated in its message to a piece of evidence, unless the source reported one.
pub fn complete(specs: &[QuotaSpec], evidence: &mut Evidence, now: &Now) {
    if evidence.quota.is_some_and(|quota| quota.reset_at.is_some()) || evidence.message.is_empty() {
        return;
    }
    evidence.quota = read(specs, &evidence.message, now).or(evidence.quota);
}

#[cfg(test)]
mod tests {
    use proto::agent::{AgentState, Source};

    use super::*;

    #[derive(Deserialize)]
    struct Table {
        quota: Vec<QuotaSpec>,
    }

    /// 2026-11-16 01:53:11 UTC.
    const NOW: Now = Now { epoch_ms: 1_794_793_991_000, zone: jiff::tz::TimeZone::UTC };

    fn specs() -> Vec<QuotaSpec> {
        let table = "[[quota]]\nid = 'limit'\npattern = 'hit your .* limit · resets (?<at>.+)'\n\
                     [[quota]]\nid = 'wait'\npattern = 'quota \\[retrying in (?<in>[^\\]]+)'\n\
                     [[quota]]\nid = 'bare'\npattern = 'out of credit'";
        toml::from_str::<Table>(table).unwrap().quota
    }

    #[test]
    fn a_time_and_a_wait_are_both_read() {
        let reset = |message: &str| read(&specs(), message, &NOW).map(|quota| quota.reset_at);
        assert_eq!(
            reset("You've hit your 5-hour limit · resets 2:53am (UTC)"),
            Some(Some(1_794_797_580_000))
        );
        assert_eq!(reset("quota [retrying in 59m 55s attempt #1]"), Some(Some(NOW.epoch_ms + 3_595_000)));
        assert_eq!(reset("out of credit"), Some(None));
        assert_eq!(reset("all is well"), None);
    }

    #[test]
    fn what_the_source_said_itself_stays() {
        let exact = Quota { reset_at: Some(5) };
        let known = Evidence::new(Source::Hook, "x", Some(AgentState::Error));
        let mut evidence = Evidence { message: "out of credit".into(), quota: Some(exact), ..known };
        complete(&specs(), &mut evidence, &NOW);
        assert_eq!(evidence.quota, Some(exact));
        evidence.quota = None;
        complete(&specs(), &mut evidence, &NOW);
        assert_eq!(evidence.quota, Some(Quota { reset_at: None }));
    }
}
