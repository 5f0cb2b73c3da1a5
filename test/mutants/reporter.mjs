/** Reporter of node --test: a line of JSON for each test that passed or failed. */
export default async function* report(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const { name, file, nesting, skip, details } = data
    const error = details?.error
    const cause = error?.cause
    yield `${JSON.stringify({
      passed: type === 'test:pass',
      name,
      file,
      nesting,
      skipped: skip !== undefined && skip !== false,
      durationMs: details?.duration_ms ?? 0,
      failure: error?.failureType,
      code: cause?.code,
      message: String(cause?.message ?? cause ?? ''),
    })}\n`
  }
}
