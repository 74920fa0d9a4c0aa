// Whether the super conductor and the cells know the same instances, and say the same of how they ended. Pure.

import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { Finding } from './finding.ts';
import type { Look } from './look.ts';

/** What the super conductor has been told by a cell; of anything before that it waits to be told, and asks. */
const TOLD: ReadonlySet<string> = new Set(['active', 'failed', 'lost']);
const IN_CELL: ReadonlySet<string> = new Set([...TOLD, 'building']);

export function disagreements({ conducted, cells }: Pick<Look, 'conducted' | 'cells'>): Finding[] {
  const findings: Finding[] = [];
  const inCells = new Map<string, InstanceView>();
  for (const [cell, seen] of cells) {
    for (const view of seen?.instances ?? []) {
      const other = inCells.get(view.instance);
      if (other !== undefined) findings.push(inTwoCells(view, cell, other));
      inCells.set(view.instance, view);
      if (conducted !== null && !conducted.has(view.instance)) findings.push(unknownToConductor(view, cell));
    }
  }
  for (const view of conducted?.values() ?? []) {
    const { instance, state, cell } = view;
    if (cell === undefined || (cells.get(cell) ?? null) === null) continue;
    const inCell = inCells.get(instance);
    if (inCell === undefined) {
      if (IN_CELL.has(state)) findings.push(unknownToCell(view, cell));
    } else if (TOLD.has(state) || state === 'deleted') {
      // A cell that is about to tell, or to be told, is not to be believed less for it.
      const isUnderWay = inCell.state === 'deleting' || inCell.owes === 'report';
      if (inCell.state !== state && !isUnderWay) findings.push(statesDiffer(view, inCell, cell));
    }
  }
  return findings;
}

function inTwoCells({ instance }: InstanceView, cell: string, other: InstanceView): Finding {
  const what = `'${instance}' is in cell '${other.cell}' and in cell '${cell}'`;
  const whose = 'the operator: one of the two is not what the super conductor knows';
  return { kind: 'two-homes', what, whose, instance, cell, repairs: [] };
}

function unknownToConductor({ instance, state }: InstanceView, cell: string): Finding {
  const what = `cell '${cell}' has '${instance}', which is ${state}, and the super conductor does not know it`;
  const whose = 'the super conductor: it has lost its record; nothing is done to what may be alive';
  return { kind: 'unknown-to-conductor', what, whose, instance, cell, repairs: [] };
}

function unknownToCell({ instance, state }: InstanceView, cell: string): Finding {
  const what = `'${instance}' is ${state} in cell '${cell}' by the super conductor, and the cell does not know it`;
  const whose = 'the cell: it has lost its record; delete the instance to have what is left of it cleared away';
  return { kind: 'unknown-to-cell', what, whose, instance, cell, repairs: [] };
}

function statesDiffer({ instance, state }: InstanceView, inCell: InstanceView, cell: string): Finding {
  const what = `'${instance}' is ${state} by the super conductor and ${inCell.state} by cell '${cell}'`;
  const whose = 'the cell: it tells how an instance ended; --repair asks it to tell again';
  return { kind: 'states-differ', what, whose, instance, cell, repairs: [{ type: 'do-again', cell, instance }] };
}
