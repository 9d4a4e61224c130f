//! Signed ids and continuations: only who was given one can come back with it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// What ids that we sign begin with.
pub(super) const SIGNED: &str = "call_gw_";

/// What continuations begin with.
const CONTINUATION: &str = "continue_gw_";

/// What a signature is for: an id of one is no continuation of the other.
const IDS: &[u8] = b"mcp-tool-gateway id of a call\0";
const CONTINUATIONS: &[u8] = b"mcp-tool-gateway continuation\0";

/// Bytes of a signature that are shown: 96 bits, which nobody guesses.
const SHOWN: usize = 12;

/// The id of the call `index` of a turn.
pub(super) fn signed(key: &[u8; 32], turn: &[u8], index: u16) -> String {
    let claims = [turn, &index.to_be_bytes()].concat();
    format!("{SIGNED}{}", BASE64.encode(with_mac(key, IDS, &claims)))
}

/// The turn of an id and the index of the call in it, if we signed it.
pub(super) fn verified(key: &[u8; 32], id: &str) -> Option<([u8; 16], usize)> {
    let bytes = BASE64.decode(id.strip_prefix(SIGNED)?).ok()?;
    if let Some(claims) = claims_of::<18>(key, IDS, &bytes) {
        let (turn, index) = claims.split_at(16);
        return Some((turn.try_into().ok()?, u16::from_be_bytes(index.try_into().ok()?).into()));
    }
    // Ids of earlier versions have one byte for the index.
    let claims = claims_of::<17>(key, IDS, &bytes)?;
    let (turn, index) = claims.split_at(16);
    Some((turn.try_into().ok()?, index.first().copied()?.into()))
}

/// The continuation of a turn.
pub(super) fn continuation(key: &[u8; 32], turn: &[u8; 16]) -> String {
    format!("{CONTINUATION}{}", BASE64.encode(with_mac(key, CONTINUATIONS, turn)))
}

/// The turn of a continuation, if we signed it.
pub(super) fn continued(key: &[u8; 32], text: &str) -> Option<[u8; 16]> {
    claims_of(key, CONTINUATIONS, &BASE64.decode(text.strip_prefix(CONTINUATION)?).ok()?)
}

/// Claims with their signature behind them.
fn with_mac(key: &[u8; 32], purpose: &[u8], claims: &[u8]) -> Vec<u8> {
    let mac = mac_over(key, purpose, claims).map(|mac| mac.finalize().into_bytes());
    let mut signed = claims.to_vec();
    signed.extend(mac.into_iter().flatten().take(SHOWN));
    signed
}

/// The claims of bytes that we signed for this purpose.
fn claims_of<const LENGTH: usize>(key: &[u8; 32], purpose: &[u8], bytes: &[u8]) -> Option<[u8; LENGTH]> {
    let (claims, shown) = bytes.split_at_checked(LENGTH)?;
    if shown.len() != SHOWN {
        return None;
    }
    mac_over(key, purpose, claims)?.verify_truncated_left(shown).ok()?;
    claims.try_into().ok()
}

fn mac_over(key: &[u8; 32], purpose: &[u8], claims: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(purpose);
    mac.update(claims);
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_known_again_and_cannot_be_changed() {
        let (key, turn) = ([7; 32], [9; 16]);
        let id = signed(&key, &turn, 3);
        assert_eq!(verified(&key, &id), Some((turn, 3)));
        assert_eq!(verified(&[8; 32], &id), None);
        assert_ne!(id, signed(&key, &turn, 4));
        let last = id.chars().last().unwrap();
        let other = if last == 'A' { 'B' } else { 'A' };
        assert_eq!(verified(&key, &format!("{}{other}", &id[..id.len() - 1])), None);
        for odd in ["call_gw_", "call_gw_!", "call_1", "call_gw_AAAA"] {
            assert_eq!(verified(&key, odd), None, "{odd}");
        }
        assert!(id.len() <= 64, "{id}");
    }

    #[test]
    fn no_two_calls_of_a_turn_have_one_id_and_older_ids_are_known() {
        let (key, turn) = ([7; 32], [9; 16]);
        for index in [0, 254, 255, 256, 257, u16::MAX] {
            assert_eq!(verified(&key, &signed(&key, &turn, index)), Some((turn, index.into())));
        }
        let claims = [&turn[..], &[200]].concat();
        let older = format!("{SIGNED}{}", BASE64.encode(with_mac(&key, IDS, &claims)));
        assert_eq!(verified(&key, &older), Some((turn, 200)));
    }

    #[test]
    fn continuations_are_no_ids() {
        let (key, turn) = ([7; 32], [9; 16]);
        let text = continuation(&key, &turn);
        assert_eq!(continued(&key, &text), Some(turn));
        assert_eq!(continued(&[8; 32], &text), None);
        assert_eq!(continued(&key, &signed(&key, &turn, 0).replace(SIGNED, CONTINUATION)), None);
        assert_eq!(verified(&key, &text.replace(CONTINUATION, SIGNED)), None);
    }
}
