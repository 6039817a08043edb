COPY `Paper` (`number`,`title`,`subject`,`year`,`open`,`seen`,`tags`,`big`) FROM "Paper.parquet" (parallel=true);
COPY `Cites` (`since`,`weight`) FROM "Cites_Paper_Paper.parquet" (to='Paper', from='Paper', parallel=true);
