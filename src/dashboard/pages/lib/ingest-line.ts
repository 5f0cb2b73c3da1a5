/** An address of a company in the data that comes with the product. */
const EXAMPLE_IP = '17.253.144.10'

/** A line to paste that sends an event. @param apiUrl null: the reader fills it in */
export function ingestLine(apiUrl: string | null, key: string): string {
  const url = `${apiUrl ?? 'http://HOST:8080'}/v1/ingest`
  return `curl -s ${url} -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '{"events":[{"ip":"${EXAMPLE_IP}"}]}'`
}
