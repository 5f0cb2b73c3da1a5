/** Address of a company in the bundled data. */
const EXAMPLE_IP = '17.253.144.10'

/** A command that sends an event. @param apiUrl null: the user fills it in */
export function ingestLine(apiUrl: string | null, key: string): string {
  const url = `${apiUrl ?? 'http://HOST:8080'}/v1/ingest`
  return `curl -s ${url} -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '{"events":[{"ip":"${EXAMPLE_IP}"}]}'`
}
