//! User numbers that stand for nobody in particular.

/// Whether this number stands for all users that are not mapped into this user namespace, root among them.
#[cfg(target_os = "linux")]
pub(crate) fn is_unmapped(uid: u32) -> bool {
    let number = |path| std::fs::read_to_string(path).ok()?.trim().parse::<u32>().ok();
    if number("/proc/sys/kernel/overflowuid") != Some(uid) {
        return false;
    }
    let Ok(map) = std::fs::read_to_string("/proc/self/uid_map") else { return false };
    let is_mapped = map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|n| n.parse::<u64>().unwrap_or_default());
        let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
        first.zip(count).is_some_and(|(first, count)| (first..first + count).contains(&u64::from(uid)))
    });
    !is_mapped
}

/// There are no user namespaces here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_unmapped(_: u32) -> bool {
    false
}
