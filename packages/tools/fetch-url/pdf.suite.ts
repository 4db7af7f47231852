import { deflateSync } from 'node:zlib';

/** A PDF of a few thousand bytes whose page unpacks to that many megabytes. */
export function pdfUnpackingTo(megabytes: number): Uint8Array {
  const once = deflateSync(Buffer.alloc(megabytes * 1024 * 1024, ' '), { level: 1 });
  const content = deflateSync(once).toString('latin1');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R >>',
    `<< /Length ${content.length} /Filter [/FlateDecode /FlateDecode] >>\nstream\n${content}\nendstream`,
  ];
  return Buffer.from(withTable(objects), 'latin1');
}

/** A small PDF with one line of text on each page. */
export function pdfOf(...lines: string[]): Uint8Array {
  const pageNumbers = lines.map((_line, index) => 4 + index * 2);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${lines.length} /Kids [${pageNumbers.map((number) => `${number} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...lines.flatMap((line, index) => pageObjects(line, 5 + index * 2)),
  ];
  return Buffer.from(withTable(objects), 'latin1');
}

function pageObjects(line: string, contentNumber: number): string[] {
  const content = `BT /F1 12 Tf 20 100 Td (${line}) Tj ET`;
  return [
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents ${contentNumber} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
  ];
}

function withTable(objects: string[]): string {
  let text = '%PDF-1.4\n';
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(text.length);
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const count = objects.length + 1;
  return `${text}xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
}
