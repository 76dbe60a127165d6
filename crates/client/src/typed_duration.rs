//! Durations as people type them in every face: `90`, `0.5`, `90s`, `10m`, `2h`, `7d`, `2w`.

const DAY_SECONDS: u64 = 86_400;

/// Returns how many seconds a unit of time has.
#[must_use]
pub fn unit_seconds(unit: &str) -> Option<u64> {
    match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(DAY_SECONDS),
        "w" => Some(7 * DAY_SECONDS),
        _ => None,
    }
}

/// Returns the milliseconds of a duration: seconds with a fraction, or a number with a unit.
pub fn milliseconds(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.split_at_checked(text.len().saturating_sub(1)) {
        Some((number, unit)) if unit_seconds(unit).is_some() => (number, unit),
        _ => (text, "s"),
    };
    let seconds: f64 = number.parse().map_err(|_| "seconds, such as 10 or 0.5, or 5m, 2h".to_owned())?;
    let seconds = seconds * unit_seconds(unit).unwrap_or(1) as f64;
    let duration =
        std::time::Duration::try_from_secs_f64(seconds).map_err(|_| "seconds from 0 on".to_owned())?;
    u64::try_from(duration.as_millis()).map_err(|_| "fewer seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_a_fraction_and_must_make_sense() {
        assert_eq!(milliseconds("0.5"), Ok(500));
        assert_eq!(milliseconds("60"), Ok(60_000));
        assert_eq!(milliseconds("1.5m"), Ok(90_000));
        assert_eq!(milliseconds("2h"), Ok(7_200_000));
        for bad in ["-1", "x", "nan", "inf", "1e300", "", "s", "-2m", "5y", "1e300d", "ü"] {
            assert!(milliseconds(bad).is_err(), "{bad}");
        }
    }
}
