-- Included: a name that nobody has begins to be shared. Takes `kind` and `permits`.
share = {
  kind = kind,
  taken = permits and 0,
  number = state and string.sub(state, 39, 54) or '0000000000000000',
  turns = state and string.sub(state, 90, 94) or '00001',
  lead = 0,
  clock = nown,
  max = nown,
  mark = '0000000000000000',
  fresh = true,
}
