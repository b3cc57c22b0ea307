use super::breach::Oddity;
use crate::log::Sighting;

/// Longest target of a polite crawler (design §7: the length guard).
const LONGEST: usize = 2083;

/// What is odd about a request, if anything; the first that applies.
pub(super) fn oddity(seen: &Sighting) -> Option<Oddity> {
    let target = seen.request.target();
    let absolute = ["http://", "https://"].iter().find_map(|scheme| target.strip_prefix(scheme.as_bytes()));
    let authority = absolute.map(|rest| rest.split(|byte| *byte == b'/').next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let segments = path.split(|byte| *byte == b'/').skip(1);
    let rows = [
        (!matches!(seen.request.method(), "GET" | "HEAD"), Oddity::Method),
        (authority.is_some_and(|authority| authority.contains(&b'@')), Oddity::UserInfo),
        (absolute.is_some(), Oddity::AbsoluteForm),
        (!target.starts_with(b"/"), Oddity::NoPath),
        (target.contains(&b'#'), Oddity::Fragment),
        (target.iter().any(|byte| !byte.is_ascii_graphic()), Oddity::RawByte),
        (segments.into_iter().any(|segment| matches!(segment, b"." | b"..")), Oddity::DotSegment),
        (target.len() > LONGEST, Oddity::Long),
        (seen.site.is_none(), Oddity::UnknownHost),
    ];
    rows.into_iter().find(|(applies, _)| *applies).map(|(_, oddity)| oddity)
}

/// True when a User-Agent says how to reach its operator.
pub(super) fn has_contact(user_agent: &str) -> bool {
    ["http://", "https://", "@"].iter().any(|sign| user_agent.contains(sign))
}
