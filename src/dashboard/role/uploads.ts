import { tenantEnricher } from '../../enrichment/judge.ts'
import type { Enricher, Hostnames } from '../../pipeline/event/enrichment.ts'
import { UploadedFiles } from '../../pipeline/sources/batch/redis/uploaded-files.ts'
import { batchJobs, intakeGate, uploadConnection } from '../../process/batch-jobs.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import type { UploadDependencies } from '../server/routes/uploads.ts'
import type { Judge } from '../server/upload-preview.ts'

/** Uploads of the dashboard, and their services. */
export function uploadsOf(context: ProcessContext): {
  readonly services: readonly Service[]
  readonly uploads: UploadDependencies
} {
  const gate = intakeGate(context)
  const client = uploadConnection(context)
  const jobs = batchJobs(context, client, gate)
  const uploadedFiles = new UploadedFiles(client)
  const { engine: enricher, hostnames } = context.enrichment
  const judge = pipelineJudge({ enricher, hostnames })
  return { services: [gate], uploads: { jobs, uploadedFiles, openJobsMax: context.config.batchQueueLimit, judge } }
}

/** Enriches as the pipeline does. */
export function pipelineJudge({
  enricher,
  hostnames,
}: {
  readonly enricher: Enricher
  readonly hostnames: Hostnames | undefined
}): Judge {
  return async (addresses, tenant) => {
    await hostnames?.prefetch(addresses)
    const judging = tenantEnricher(enricher, tenant)
    return addresses.map((address) => judging.enrich(address))
  }
}
